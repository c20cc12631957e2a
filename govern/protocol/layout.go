package protocol

import (
	pathpkg "path"
	"slices"
	"strings"
)

// Paths of a governed project, with slashes, relative to its root.
const (
	ConfigFile        = "agentxchain.json"
	Dir               = ".agentxchain"
	StateFile         = Dir + "/state.json"
	HistoryFile       = Dir + "/history.jsonl"
	LedgerFile        = Dir + "/decision-ledger.jsonl"
	RepoLedgerFile    = Dir + "/repo-decisions.jsonl"
	EventsFile        = Dir + "/events.jsonl"
	SessionFile       = Dir + "/session.json"
	RunHistoryFile    = Dir + "/run-history.jsonl"
	HookAuditFile     = Dir + "/hook-audit.jsonl"
	AnnotationsFile   = Dir + "/hook-annotations.jsonl"
	NoticeAuditFile   = Dir + "/notification-audit.jsonl"
	SchedulesFile     = Dir + "/schedule-state.json"
	ScheduleDaemon    = Dir + "/schedule-daemon.json"
	EscalationsFile   = Dir + "/human-escalations.jsonl"
	ChainFile         = Dir + "/chain.jsonl"
	IgnoreFile        = Dir + "/.gitignore"
	DispatchIndexFile = Dir + "/dispatch/index.json"
	DispatchDir       = Dir + "/dispatch/turns"
	RejectedDir       = Dir + "/dispatch/rejected"
	StagingDir        = Dir + "/staging"
	ReviewsDir        = Dir + "/reviews"
	ProposedDir       = Dir + "/proposed"
	TransactionsDir   = Dir + "/transactions/accept"
	LocksDir          = Dir + "/locks"
	LockFile          = LocksDir + "/accept-turn.lock"
	ArchiveDir        = Dir + "/archive/turns"
	PromptsDir        = Dir + "/prompts"
	ReportsDir        = Dir + "/reports"
	WorktreesDir      = Dir + "/worktrees"
	TalkFile          = "TALK.md"
	HumanTasksFile    = "HUMAN_TASKS.md"
	PlanningDir       = ".planning"
)

// StagedFile is the path of a turn's staged result.
func StagedFile(turn string) string { return StagingDir + "/" + turn + "/turn-result.json" }

// ReviewFile is the path of the review of a turn whose runtime writes no files.
func ReviewFile(turn, role string) string { return ReviewsDir + "/" + turn + "-" + role + "-review.md" }

// ProposalFile is the name of the summary in a proposal's folder.
const ProposalFile = "PROPOSAL.md"

// BundleDir is the folder of a turn's dispatch bundle.
func BundleDir(turn string) string { return DispatchDir + "/" + turn }

// ReservedPaths are the files that no turn may change.
func ReservedPaths() []string {
	return []string{StateFile, HistoryFile, LedgerFile, Dir + "/lock.json"}
}

var operationalDirs = []string{"dispatch", "staging", "intake", "locks", "transactions", "missions", "multirepo", "plugins",
	"prompts", "archive", "worktrees"}

var operationalFiles = []string{"state.json", "history.jsonl", "decision-ledger.jsonl", "repo-decisions.jsonl", "events.jsonl",
	"session.json", "run-history.jsonl", "hook-audit.jsonl", "hook-annotations.jsonl", "human-escalations.jsonl",
	"notification-audit.jsonl", "sla-reminders.json", "schedule-state.json", "schedule-daemon.json", "continuous-session.json",
	"SESSION_RECOVERY.md", "migration-report.md", "chain.jsonl", "lock.json", ".gitignore"}

// generated are the reports that the original generates; other files in their folder were written by a turn.
var generated = []string{ReportsDir + "/report-*.md", ReportsDir + "/export-*.json", ReportsDir + "/chain-*.json"}

// Operational reports whether the path belongs to the orchestrator: changes to it are never attributed to an agent. The
// path is relative to the root, with slashes.
func Operational(path string) bool {
	if path == TalkFile || path == HumanTasksFile {
		return true
	}
	for _, pattern := range generated {
		if ok, _ := pathpkg.Match(pattern, path); ok { // the patterns are constants
			return true
		}
	}
	rest, ok := strings.CutPrefix(path, Dir+"/")
	if !ok {
		return false
	}
	if strings.HasPrefix(rest, "dispatch-progress") || slices.Contains(operationalFiles, rest) {
		return true
	}
	dir, _, _ := strings.Cut(rest, "/")
	return slices.Contains(operationalDirs, dir)
}

// BaselineExempt reports whether the path may be uncommitted when a turn is assigned: operational files, and files that
// turns derive.
func BaselineExempt(path string) bool {
	return Operational(path) || strings.HasPrefix(path, ReviewsDir+"/") || strings.HasPrefix(path, ReportsDir+"/") ||
		strings.HasPrefix(path, ProposedDir+"/")
}

// Reserved reports whether no turn may change the path, in any case: the files in which the orchestrator keeps its
// state. A name that is equal only on systems that ignore case is reserved as well.
func Reserved(path string) bool {
	fold := strings.ToLower(path)
	if slices.ContainsFunc(ReservedPaths(), func(p string) bool { return p == fold }) {
		return true
	}
	return Operational(fold) && fold != TalkFile
}

// TurnVariable is the environment variable that names the turn to its worker.
const TurnVariable = "AGENTXCHAIN_TURN_ID"
