// Package chatapi speaks the model APIs of the runtime type api_proxy as the protocol defines it: one request, one whole
// answer, no tools and no stream. It makes requests, reads answers, and classifies failures by the protocol's error
// classes. When requests are repeated, and what an answer means for a turn, does not belong here.
package chatapi
