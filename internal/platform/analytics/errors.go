package analytics

import (
	"context"
	"errors"
	"net/http"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// unavailable marks an error of a server that is unreachable or overloaded.
type unavailable struct{ error }

func (e *unavailable) Unwrap() error { return e.error }

// Unavailable reports whether the same call may succeed later without a change: the server is
// unreachable, starting, overloaded or short of memory or disk.
func Unavailable(err error) bool { return errors.As(err, new(*unavailable)) }

// Away reports whether the server did not respond.
func Away(err error) bool { return Unavailable(err) && !errors.As(err, new(*clickhouse.Exception)) }

// busyCodes are temporary errors of the server.
var busyCodes = map[int32]bool{
	159: true, // TIMEOUT_EXCEEDED
	160: true, // TOO_SLOW
	173: true, // CANNOT_ALLOCATE_MEMORY
	201: true, // QUOTA_EXCEEDED
	202: true, // TOO_MANY_SIMULTANEOUS_QUERIES
	209: true, // SOCKET_TIMEOUT
	210: true, // NETWORK_ERROR
	236: true, // ABORTED (shutting down)
	241: true, // MEMORY_LIMIT_EXCEEDED
	242: true, // TABLE_IS_READ_ONLY
	243: true, // NOT_ENOUGH_SPACE
	252: true, // TOO_MANY_PARTS
	279: true, // ALL_CONNECTION_TRIES_FAILED
	319: true, // UNKNOWN_STATUS_OF_INSERT
	341: true, // UNFINISHED
	364: true, // RECEIVED_ERROR_TOO_MANY_REQUESTS
	394: true, // QUERY_WAS_CANCELLED
	425: true, // SYSTEM_ERROR
	439: true, // CANNOT_SCHEDULE_TASK
	745: true, // SERVER_OVERLOADED
	999: true, // KEEPER_EXCEPTION
}

// classify marks err as *unavailable if it is temporary. No other code decides this.
func classify(ctx context.Context, err error) error {
	var (
		exception *clickhouse.Exception
		status    *clickhouse.HTTPError
	)
	switch {
	case err == nil, ctx.Err() != nil: // ctx decides, not err: a network timeout is a context.DeadlineExceeded too
		return err
	case errors.As(err, &exception):
		if !busyCodes[exception.Code] {
			return err
		}
	case errors.As(err, &status):
		// A proxy responded, or a server that is starting.
		switch status.StatusCode {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests, http.StatusRequestTimeout:
		default:
			return err
		}
	case errors.As(err, new(*columnError)), errors.Is(err, clickhouse.ErrBatchInvalid), errors.Is(err, clickhouse.ErrUnsupportedQueryParameter):
		return err
	}
	// Other errors are the network's: refused, reset, closed, timeout.
	return &unavailable{err}
}
