package clickhouse

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"forager/infra/local/chdb"
)

// statusOf returns the HTTP status of a ClickHouse server for an error.
func statusOf(code int) int {
	switch code {
	case 194: // REQUIRED_PASSWORD
		return http.StatusUnauthorized
	case 192, 193, 497, 512, 516: // UNKNOWN_USER … AUTHENTICATION_FAILED, ACCESS_DENIED
		return http.StatusForbidden
	case 6, 8, 15, 25, 26, 27, 36, 37, 38, 41, 44, 53, 62, 72, 117, 123, 167, 168, 223, 321, 376, 427, 441, 675, 676:
		return http.StatusBadRequest // the request cannot be parsed, or is invalid
	case 46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 152, 336, 511:
		return http.StatusNotFound // UNKNOWN_…
	case 229: // QUERY_IS_TOO_LARGE
		return http.StatusRequestEntityTooLarge
	case 48: // NOT_IMPLEMENTED
		return http.StatusNotImplemented
	case 76, 209, 439: // CANNOT_OPEN_FILE, SOCKET_TIMEOUT, CANNOT_SCHEDULE_TASK
		return http.StatusServiceUnavailable
	case 381: // HTTP_LENGTH_REQUIRED
		return http.StatusLengthRequired
	case 159: // TIMEOUT_EXCEEDED
		return http.StatusRequestTimeout
	}
	return http.StatusInternalServerError
}

// fail responds with an error, as a server of this version does.
func (s *Server) fail(w http.ResponseWriter, err error) {
	var e *chdb.Exception
	if !errors.As(err, &e) {
		e = &chdb.Exception{Code: 1002, Message: fmt.Sprintf("Code: 1002. DB::Exception: %v. (UNKNOWN_EXCEPTION)", err)}
	}
	message := e.Message
	if e.Code == 396 { // TOO_MANY_ROWS_OR_BYTES
		message += fmt.Sprintf(" (the embedded ClickHouse holds a result in memory, %d MiB by default: ask for fewer rows, or raise the setting max_result_bytes)", maxResultBytes>>20)
	}
	if !strings.Contains(message, "(version ") {
		message += fmt.Sprintf(" (version %s)", s.version)
	}
	h := w.Header()
	h.Set("X-ClickHouse-Exception-Code", fmt.Sprint(e.Code))
	h.Set("Content-Type", "text/plain; charset=UTF-8")
	w.WriteHeader(statusOf(e.Code))
	fmt.Fprintln(w, message)
}

// contentType returns that of an output format.
func contentType(format string) string {
	f := strings.ToLower(format)
	has := func(prefixes ...string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(f, p) {
				return true
			}
		}
		return false
	}
	switch {
	case f == "", has("tabseparated", "tsv"):
		return "text/tab-separated-values; charset=UTF-8"
	case has("csvwithnames"):
		return "text/csv; charset=UTF-8; header=present"
	case has("csv"):
		return "text/csv; charset=UTF-8; header=absent"
	case has("jsoneachrow", "jsonlines", "ndjson", "jsoncompacteachrow", "jsonstringseachrow", "jsoncompactstringseachrow"):
		return "application/x-ndjson; charset=UTF-8"
	case has("json"):
		return "application/json; charset=UTF-8"
	case has("xml"):
		return "application/xml; charset=UTF-8"
	case has("markdown"):
		return "text/markdown; charset=UTF-8"
	case has("native", "rowbinary", "parquet", "arrow", "orc", "avro", "protobuf", "capnproto", "msgpack", "npy", "bson", "buffers"):
		return "application/octet-stream"
	}
	return "text/plain; charset=UTF-8"
}
