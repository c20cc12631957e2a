// Package modelapi is the kit for adapters of model APIs: services that answer over HTTP with a stream of server-sent events.
// It holds the conversation, calls the model, calls the caller's tools, repeats failed calls, and turns all that into
// events. An adapter is a Spec: the format of its API (Wire), where its key and address come from, and what it can do.
//
// A conversation is a session in Drawbar's own state directory, which can be continued and forked; the kit has the format of its file. A model
// has no tools but the caller's: it reads and changes nothing here.
package modelapi
