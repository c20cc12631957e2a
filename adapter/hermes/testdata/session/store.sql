PRAGMA foreign_keys = OFF;
PRAGMA journal_mode = WAL;
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version VALUES(30);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, model_config TEXT, system_prompt TEXT, parent_session_id TEXT,
  started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0,
  input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0, cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0,
  reasoning_tokens INTEGER DEFAULT 0, billing_provider TEXT, billing_base_url TEXT, billing_mode TEXT, estimated_cost_usd REAL, actual_cost_usd REAL,
  cost_status TEXT, cost_source TEXT, pricing_version TEXT, title TEXT, api_call_count INTEGER DEFAULT 0, cwd TEXT, git_branch TEXT, git_repo_root TEXT,
  archived INTEGER DEFAULT 0, FOREIGN KEY (parent_session_id) REFERENCES sessions(id));
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL, content TEXT, tool_call_id TEXT,
  tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER, finish_reason TEXT, reasoning TEXT, reasoning_content TEXT,
  reasoning_details TEXT, codex_reasoning_items TEXT, codex_message_items TEXT, active INTEGER DEFAULT 1, compacted INTEGER DEFAULT 0);
CREATE INDEX idx_messages_session_id ON messages(session_id, id);
INSERT INTO sessions(id,source,model,started_at,ended_at,end_reason,message_count,tool_call_count,input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,
  reasoning_tokens,actual_cost_usd,estimated_cost_usd,title,api_call_count,cwd) VALUES
 ('20261101_093000_a1b2c3','acp','anthropic/claude-sonnet-5',1793525400.25,1793525430.5,'user_exit',4,1,900,120,300,40,30,NULL,0.0125,'List the files',2,'/work/project'),
 ('20261101_101500_d4e5f6','subagent','openrouter/some-model',1793528100.0,NULL,NULL,2,0,50,10,0,0,0,0.002,0.004,NULL,1,'/work/project'),
 ('20261101_110000_aa00bb','cli','anthropic/claude-sonnet-5',1793530800.0,NULL,NULL,4,0,10,5,0,0,0,NULL,NULL,NULL,1,'/work/project');
UPDATE sessions SET parent_session_id = '20261101_093000_a1b2c3', archived = 1 WHERE source = 'subagent';
INSERT INTO messages(session_id,role,content,tool_call_id,tool_calls,tool_name,timestamp,finish_reason,reasoning,active) VALUES
 ('20261101_093000_a1b2c3','user','list the files',NULL,NULL,NULL,1793525401.0,NULL,NULL,1),
 ('20261101_093000_a1b2c3','assistant','',NULL,'[{"id":"call_1","type":"function","function":{"name":"terminal","arguments":"{\"command\":\"ls\"}"}}]',NULL,1793525405.5,'tool_calls','I look first.',1),
 ('20261101_093000_a1b2c3','tool','{"output":"main.go","exit_code":0}','call_1',NULL,'terminal',1793525406.0,NULL,NULL,1),
 ('20261101_093000_a1b2c3','assistant','There is main.go.',NULL,NULL,NULL,1793525430.0,'stop',NULL,1),
 ('20261101_101500_d4e5f6','user','count them',NULL,NULL,NULL,1793528101.0,NULL,NULL,1),
 ('20261101_101500_d4e5f6','assistant','One.',NULL,NULL,NULL,1793528102.0,'stop',NULL,1),
 ('20261101_110000_aa00bb','user','first question',NULL,NULL,NULL,1793530801.0,NULL,NULL,0),
 ('20261101_110000_aa00bb','assistant','first answer',NULL,NULL,NULL,1793530802.0,'stop',NULL,0),
 ('20261101_110000_aa00bb','user','second question',NULL,NULL,NULL,1793530901.0,NULL,NULL,1),
 ('20261101_110000_aa00bb','assistant','second answer',NULL,'[{"id":"call_2","function":{"name":"terminal","arguments":"{\"command\": \"l"}}]',NULL,1793530902.0,'stop',NULL,1);
