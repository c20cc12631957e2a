PRAGMA foreign_keys = OFF;
PRAGMA journal_mode = WAL;
CREATE TABLE schema_version (
                version INTEGER PRIMARY KEY,
                applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
            );
INSERT INTO schema_version VALUES(16,'2026-11-23 21:17:03');
CREATE TABLE sessions (
                id TEXT PRIMARY KEY,
                name TEXT NOT NULL DEFAULT '',
                description TEXT NOT NULL DEFAULT '',
                user_set_name BOOLEAN DEFAULT FALSE,
                session_type TEXT NOT NULL DEFAULT 'user',
                working_dir TEXT NOT NULL,
                created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                extension_data TEXT DEFAULT '{}',
                total_tokens INTEGER,
                input_tokens INTEGER,
                output_tokens INTEGER,
                cache_read_tokens INTEGER,
                cache_write_tokens INTEGER,
                accumulated_total_tokens INTEGER,
                accumulated_input_tokens INTEGER,
                accumulated_output_tokens INTEGER,
                accumulated_cache_read_tokens INTEGER,
                accumulated_cache_write_tokens INTEGER,
                accumulated_cost REAL,
                schedule_id TEXT,
                recipe_json TEXT,
                user_recipe_values_json TEXT,
                provider_name TEXT,
                model_config_json TEXT,
                goose_mode TEXT NOT NULL DEFAULT 'auto',
                archived_at TIMESTAMP,
                project_id TEXT,
                parent_session_id TEXT
            );
INSERT INTO sessions VALUES('20261123_1','ok','',0,'acp','/work-dir','2026-11-23 21:17:03','2026-11-23 21:52:49','{}',120,100,20,0,NULL,640,550,90,50,0,NULL,NULL,NULL,NULL,'openai','{"model_name":"scripted-model","temperature":null,"max_tokens":null,"toolshim":false,"toolshim_model":null}','auto',NULL,NULL,NULL);
INSERT INTO sessions VALUES('20261123_2','ok','',0,'user','/work-dir','2026-11-23 21:47:06','2026-11-23 21:47:07','{}',280,250,30,50,NULL,520,450,70,50,0,NULL,NULL,NULL,NULL,'openai','{"model_name":"scripted-model","temperature":null,"max_tokens":null,"toolshim":false,"toolshim_model":null}','auto',NULL,NULL,NULL);
INSERT INTO sessions VALUES('20261123_3','ok','',0,'acp','/work-dir','2026-11-23 21:52:48','2026-11-23 21:52:49','{}',120,100,20,0,NULL,580,500,80,0,0,NULL,NULL,NULL,NULL,'openai','{"model_name":"scripted-model","temperature":null,"max_tokens":null,"toolshim":false,"toolshim_model":null}','auto',NULL,NULL,NULL);
INSERT INTO sessions VALUES('20261123_4','Delegated task','',0,'sub_agent','/work-dir','2026-11-23 21:52:49','2026-11-23 21:52:49','{}',55,50,5,0,NULL,55,50,5,0,0,NULL,NULL,'{"version":"1.0.0","title":"Delegated Task","description":"Ad-hoc delegated task","prompt":"count the files"}',NULL,'openai','{"model_name":"scripted-model","temperature":null,"max_tokens":null,"toolshim":false,"toolshim_model":null}','auto',NULL,NULL,'20261123_3');
CREATE TABLE messages (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                message_id TEXT,
                session_id TEXT NOT NULL REFERENCES sessions(id),
                role TEXT NOT NULL,
                content_json TEXT NOT NULL,
                created_timestamp INTEGER NOT NULL,
                timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                tokens INTEGER,
                metadata_json TEXT
            );
INSERT INTO messages VALUES(1,'msg_f155b35a-9166-4e71-83f1-ce876c0fd725','20261123_1','user','[{"type":"text","text":"look at it"}]',1795468623,'2026-11-23 21:17:03',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO messages VALUES(2,'msg_ff62cc15-3411-4f98-b6c5-5a84c394a612','20261123_1','user','[{"type":"text","text":"<turn-context>\n<current-time>2026-11-23 21:17:00 +00:00</current-time>\n<working-directory>/work-dir</working-directory>\n\nCurrent tasks and notes:\nOnce given a task, immediately update your todo with all explicit and implicit requirements\n\n</turn-context>"}]',1795468623,'2026-11-23 21:17:03',NULL,'{"userVisible":false,"agentVisible":true,"turnContext":true}');
INSERT INTO messages VALUES(3,'chatcmpl-scriptedzqykxjw5000004','20261123_1','assistant','[{"type":"text","text":"I look."}]',1795468623,'2026-11-23 21:17:03',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"},"usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120,"cacheReadTokens":0,"elapsedMs":12,"timeToFirstTokenMs":2}}');
INSERT INTO messages VALUES(4,'msg_1d667762-9006-411a-a70d-34886ef7af37','20261123_1','assistant','[{"type":"thinking","thinking":"let me see","signature":""},{"type":"toolRequest","id":"call_scriptedzqykxjw5000005","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"echo hi"}}},"_meta":{"goose.toolCall.providerIndex":0,"goose_extension":"developer"}}]',1795468623,'2026-11-23 21:17:03',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"}}');
INSERT INTO messages VALUES(5,'msg_7c7f470e-c092-4a33-99aa-ec08e259ab86','20261123_1','user','[{"type":"toolResponse","id":"call_scriptedzqykxjw5000005","toolResult":{"status":"success","value":{"resultType":"complete","content":[{"type":"text","text":"hi","annotations":{"priority":0.0}}],"structuredContent":{"stdout":"hi","stderr":"","exit_code":0},"isError":false}}}]',1795468623,'2026-11-23 21:17:03',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO messages VALUES(6,'chatcmpl-scriptedzqykxjw5000007','20261123_1','assistant','[{"type":"toolRequest","id":"call_scriptedzqykxjw5000008","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"cat /nope.txt"}}},"_meta":{"goose.toolCall.providerIndex":0,"goose_extension":"developer"}}]',1795468623,'2026-11-23 21:17:03',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"},"usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120,"cacheReadTokens":0,"elapsedMs":8,"timeToFirstTokenMs":3}}');
INSERT INTO messages VALUES(7,'msg_97bf2764-f9e2-4d53-8921-dc9b456932c2','20261123_1','user','[{"type":"toolResponse","id":"call_scriptedzqykxjw5000008","toolResult":{"status":"success","value":{"resultType":"complete","content":[{"type":"text","text":"cat: /nope.txt: No such file or directory\n\nCommand exited with code 1","annotations":{"priority":0.0}}],"structuredContent":{"stdout":"","stderr":"cat: /nope.txt: No such file or directory","exit_code":1},"isError":true}}}]',1795468623,'2026-11-23 21:17:03',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO messages VALUES(8,'msg_08dd4512-e966-44da-8fe6-664da877a65f','20261123_1','assistant','[{"type":"toolRequest","id":"call_scriptedzqykxjw5000009","toolCall":{"status":"success","value":{"name":"write","arguments":{"path":"/work-dir/b.txt","content":"A"}}},"_meta":{"goose.toolCall.providerIndex":1,"goose_extension":"developer"}}]',1795468623,'2026-11-23 21:17:03',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"}}');
INSERT INTO messages VALUES(9,'msg_92af5be3-08cc-4e7b-83f6-ea8eb2786d1b','20261123_1','user','[{"type":"toolResponse","id":"call_scriptedzqykxjw5000009","toolResult":{"status":"success","value":{"resultType":"complete","content":[{"type":"text","text":"Created /work-dir/b.txt (1 lines)","annotations":{"priority":0.0}}],"isError":false}}}]',1795468623,'2026-11-23 21:17:03',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO messages VALUES(10,'chatcmpl-scriptedzqykxjw5000011','20261123_1','assistant','[{"type":"text","text":"Done, all of it."}]',1795468623,'2026-11-23 21:17:03',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"},"usage":{"inputTokens":250,"outputTokens":30,"totalTokens":280,"cacheReadTokens":50,"elapsedMs":2,"timeToFirstTokenMs":2}}');
INSERT INTO messages VALUES(11,'msg_1d3a00c2-a433-4305-89f9-db3d493ca771','20261123_2','user','[{"type":"text","text":"hi"}]',1795470426,'2026-11-23 21:47:06',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO messages VALUES(12,'msg_73b890fa-b8f1-4783-a891-5b3758c05bbd','20261123_2','user','[{"type":"text","text":"<turn-context>\n<current-time>2026-11-23 21:47:00 +00:00</current-time>\n<working-directory>/work-dir</working-directory>\n\nCurrent tasks and notes:\nOnce given a task, immediately update your todo with all explicit and implicit requirements\n\n</turn-context>"}]',1795470427,'2026-11-23 21:47:07',NULL,'{"userVisible":false,"agentVisible":true,"turnContext":true}');
INSERT INTO messages VALUES(13,'chatcmpl-scriptedf6vu5j7v000004','20261123_2','assistant','[{"type":"text","text":"I look."}]',1795470427,'2026-11-23 21:47:07',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"},"usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120,"cacheReadTokens":0,"elapsedMs":49,"timeToFirstTokenMs":6}}');
INSERT INTO messages VALUES(14,'msg_9b857806-6da1-4664-add5-62356857622c','20261123_2','assistant','[{"type":"thinking","thinking":"let me see","signature":""},{"type":"toolRequest","id":"call_scriptedf6vu5j7v000005","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"echo hi"}}},"_meta":{"goose.toolCall.providerIndex":0,"goose_extension":"developer"}}]',1795470427,'2026-11-23 21:47:07',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"}}');
INSERT INTO messages VALUES(15,'msg_0e4e5e8b-8a25-4a06-9c19-9e83966deab8','20261123_2','user','[{"type":"toolResponse","id":"call_scriptedf6vu5j7v000005","toolResult":{"status":"success","value":{"resultType":"complete","content":[{"type":"text","text":"hi","annotations":{"priority":0.0}}],"structuredContent":{"stdout":"hi","stderr":"","exit_code":0},"isError":false}}}]',1795470427,'2026-11-23 21:47:07',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO messages VALUES(16,'chatcmpl-scriptedf6vu5j7v000007','20261123_2','assistant','[{"type":"toolRequest","id":"call_scriptedf6vu5j7v000008","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"cat /nope.txt"}}},"_meta":{"goose.toolCall.providerIndex":0,"goose_extension":"developer"}}]',1795470427,'2026-11-23 21:47:07',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"},"usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120,"cacheReadTokens":0,"elapsedMs":39,"timeToFirstTokenMs":4}}');
INSERT INTO messages VALUES(17,'msg_7ea5d6f5-3a41-488b-b47c-5879af8677af','20261123_2','user','[{"type":"toolResponse","id":"call_scriptedf6vu5j7v000008","toolResult":{"status":"success","value":{"resultType":"complete","content":[{"type":"text","text":"cat: /nope.txt: No such file or directory\n\nCommand exited with code 1","annotations":{"priority":0.0}}],"structuredContent":{"stdout":"","stderr":"cat: /nope.txt: No such file or directory","exit_code":1},"isError":true}}}]',1795470427,'2026-11-23 21:47:07',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO messages VALUES(18,'msg_b9cc3d38-a391-4b06-9ace-3ebe1d63132d','20261123_2','assistant','[{"type":"toolRequest","id":"call_scriptedf6vu5j7v000009","toolCall":{"status":"success","value":{"name":"write","arguments":{"path":"/work-dir/b.txt","content":"A"}}},"_meta":{"goose.toolCall.providerIndex":1,"goose_extension":"developer"}}]',1795470427,'2026-11-23 21:47:07',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"}}');
INSERT INTO messages VALUES(19,'msg_620522ae-1012-4e42-ac17-422e00b6a5f2','20261123_2','user','[{"type":"toolResponse","id":"call_scriptedf6vu5j7v000009","toolResult":{"status":"success","value":{"resultType":"complete","content":[{"type":"text","text":"Wrote /work-dir/b.txt (1 lines)","annotations":{"priority":0.0}}],"isError":false}}}]',1795470427,'2026-11-23 21:47:07',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO messages VALUES(20,'chatcmpl-scriptedf6vu5j7v000011','20261123_2','assistant','[{"type":"text","text":"Done, all of it."}]',1795470427,'2026-11-23 21:47:07',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"},"usage":{"inputTokens":250,"outputTokens":30,"totalTokens":280,"cacheReadTokens":50,"elapsedMs":4,"timeToFirstTokenMs":2}}');
INSERT INTO messages VALUES(21,'msg_be9b175b-fcc3-418e-b1a4-128abbd300af','20261123_3','user','[{"type":"text","text":"count with help"}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO messages VALUES(22,'msg_2aadedd9-8e35-4bcb-aeed-6ea25c36c59c','20261123_3','user','[{"type":"text","text":"<turn-context>\n<current-time>2026-11-23 21:52:00 +00:00</current-time>\n<working-directory>/work-dir</working-directory>\n\nCurrent tasks and notes:\nOnce given a task, immediately update your todo with all explicit and implicit requirements\n\n</turn-context>"}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":false,"agentVisible":true,"turnContext":true}');
INSERT INTO messages VALUES(23,'msg_4ad13dc1-7311-4285-96b8-6e33eeed9e10','20261123_4','user','[{"type":"text","text":"count the files"}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO messages VALUES(24,'msg_3a5c7cfb-a215-4883-b2c3-950015c1be5d','20261123_4','user','[{"type":"text","text":"<turn-context>\n<current-time>2026-11-23 21:52:00 +00:00</current-time>\n<working-directory>/work-dir</working-directory>\n\nCurrent tasks and notes:\nOnce given a task, immediately update your todo with all explicit and implicit requirements\n\n</turn-context>"}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":false,"agentVisible":true,"turnContext":true}');
INSERT INTO messages VALUES(25,'chatcmpl-scriptednp64wd72000007','20261123_4','assistant','[{"type":"text","text":"two files"}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"},"usage":{"inputTokens":50,"outputTokens":5,"totalTokens":55,"cacheReadTokens":0,"elapsedMs":1,"timeToFirstTokenMs":1}}');
INSERT INTO messages VALUES(26,'chatcmpl-scriptednp64wd72000004','20261123_3','assistant','[{"type":"text","text":"I ask another."}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"},"usage":{"inputTokens":300,"outputTokens":40,"totalTokens":340,"cacheReadTokens":0,"elapsedMs":31,"timeToFirstTokenMs":1}}');
INSERT INTO messages VALUES(27,'msg_7a792388-ecd1-4ddf-9b59-178e22eaaf01','20261123_3','assistant','[{"type":"toolRequest","id":"call_scriptednp64wd72000005","toolCall":{"status":"success","value":{"name":"delegate","arguments":{"instructions":"count the files"}}},"_meta":{"goose.toolCall.providerIndex":0,"goose_extension":"summon"}}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"}}');
INSERT INTO messages VALUES(28,'msg_f3d78d90-473d-47ec-a551-18e252009fd9','20261123_3','user','[{"type":"toolResponse","id":"call_scriptednp64wd72000005","toolResult":{"status":"success","value":{"resultType":"complete","content":[{"type":"text","text":"two files"}],"isError":false,"_meta":{"subagent_session_id":"20261123_4"}}}}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO messages VALUES(29,'chatcmpl-scriptednp64wd72000009','20261123_3','assistant','[{"type":"text","text":"There are two."}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"},"usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120,"cacheReadTokens":0,"elapsedMs":2,"timeToFirstTokenMs":2}}');
INSERT INTO messages VALUES(30,'msg_5603e513-b365-45ec-b3b9-a11584f4c224','20261123_3','user','[{"type":"text","text":"once more"}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO messages VALUES(31,'msg_6196cce6-d23b-4ab0-9b12-d16cbde69a71','20261123_3','user','[{"type":"text","text":"<turn-context>\n<current-time>2026-11-23 21:52:00 +00:00</current-time>\n<working-directory>/work-dir</working-directory>\n\nCurrent tasks and notes:\nOnce given a task, immediately update your todo with all explicit and implicit requirements\n\n</turn-context>"}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":false,"agentVisible":true,"turnContext":true}');
INSERT INTO messages VALUES(32,'chatcmpl-scriptednp64wd72000013','20261123_3','assistant','[{"type":"text","text":"again"}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"},"usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120,"cacheReadTokens":0,"elapsedMs":2,"timeToFirstTokenMs":2}}');
INSERT INTO messages VALUES(33,'msg_c35ae99d-6755-4438-bc71-bb3f7c83aa41','20261123_1','user','[{"type":"text","text":"resumed"}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO messages VALUES(34,'msg_0808eba5-f786-4003-ae02-3f8395a64f62','20261123_1','user','[{"type":"text","text":"<turn-context>\n<current-time>2026-11-23 21:52:00 +00:00</current-time>\n<working-directory>/work-dir</working-directory>\n\nCurrent tasks and notes:\nOnce given a task, immediately update your todo with all explicit and implicit requirements\n\n</turn-context>"}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":false,"agentVisible":true,"turnContext":true}');
INSERT INTO messages VALUES(35,'chatcmpl-scriptednp64wd72000015','20261123_1','assistant','[{"type":"text","text":"ok"}]',1795470769,'2026-11-23 21:52:49',NULL,'{"userVisible":true,"agentVisible":true,"inference":{"provider":"openai","requestedModel":"scripted-model"},"usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120,"cacheReadTokens":0,"elapsedMs":1,"timeToFirstTokenMs":1}}');
CREATE TABLE usage_ledger (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
                created_timestamp INTEGER NOT NULL,
                model TEXT,
                input_tokens INTEGER,
                output_tokens INTEGER,
                total_tokens INTEGER,
                cache_read_tokens INTEGER,
                cache_write_tokens INTEGER,
                cost REAL,
                cost_source TEXT,
                is_compaction INTEGER DEFAULT 0
            );
INSERT INTO usage_ledger VALUES(1,'20261123_1',1795468623,'scripted-model',100,20,120,0,NULL,NULL,NULL,0);
INSERT INTO usage_ledger VALUES(2,'20261123_1',1795468623,'scripted-model',100,20,120,0,NULL,NULL,NULL,0);
INSERT INTO usage_ledger VALUES(3,'20261123_1',1795468623,'scripted-model',250,30,280,50,NULL,NULL,NULL,0);
INSERT INTO usage_ledger VALUES(4,'20261123_2',1795470427,'scripted-model',100,20,120,0,NULL,NULL,NULL,0);
INSERT INTO usage_ledger VALUES(5,'20261123_2',1795470427,'scripted-model',100,20,120,0,NULL,NULL,NULL,0);
INSERT INTO usage_ledger VALUES(6,'20261123_2',1795470427,'scripted-model',250,30,280,50,NULL,NULL,NULL,0);
INSERT INTO usage_ledger VALUES(7,'20261123_4',1795470769,'scripted-model',50,5,55,0,NULL,NULL,NULL,0);
INSERT INTO usage_ledger VALUES(8,'20261123_3',1795470769,'scripted-model',300,40,340,0,NULL,NULL,NULL,0);
INSERT INTO usage_ledger VALUES(9,'20261123_3',1795470769,'scripted-model',100,20,120,0,NULL,NULL,NULL,0);
INSERT INTO usage_ledger VALUES(10,'20261123_3',1795470769,'scripted-model',100,20,120,0,NULL,NULL,NULL,0);
INSERT INTO usage_ledger VALUES(11,'20261123_1',1795470769,'scripted-model',100,20,120,0,NULL,NULL,NULL,0);
CREATE INDEX idx_messages_session ON messages(session_id);
CREATE INDEX idx_messages_timestamp ON messages(timestamp);
CREATE INDEX idx_messages_message_id ON messages(message_id);
CREATE INDEX idx_messages_session_created ON messages(session_id, created_timestamp, id);
CREATE INDEX idx_sessions_updated ON sessions(updated_at DESC);
CREATE INDEX idx_sessions_type ON sessions(session_type);
CREATE INDEX idx_sessions_parent ON sessions(parent_session_id);
CREATE INDEX idx_usage_ledger_session ON usage_ledger(session_id);
