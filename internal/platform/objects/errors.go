package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/minio/minio-go/v7"
)

// Classes of errors, for errors.Is.
var (
	// ErrNotFound: there is no object of that name.
	ErrNotFound = errors.New("object not found")
	// ErrExists: the name is taken.
	ErrExists = errors.New("object exists")
	// ErrDenied: the server refuses the keys, or does not permit them the operation.
	ErrDenied = errors.New("object store denies access")
	// ErrUnavailable: unreachable, overloaded or not set up yet; the same call may succeed later.
	ErrUnavailable = errors.New("object store unavailable")
)

// classify adds the call, the object and the class, if there is one, to an error. The error of ctx
// is returned as it is.
func classify(ctx context.Context, call, name string, err error) error {
	if err == nil {
		return nil
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return fmt.Errorf("%s %s: %w", call, name, ctxErr)
	}
	if class := classOf(err); class != nil {
		return fmt.Errorf("%s %s: %w: %w", call, name, class, err)
	}
	return fmt.Errorf("%s %s: %w", call, name, err)
}

// classOf returns the class of an error of the client; nil if it has none.
func classOf(err error) error {
	var answer minio.ErrorResponse
	if errors.As(err, &answer) {
		switch answer.Code {
		case "NoSuchKey":
			return ErrNotFound
		case "NoSuchBucket":
			return ErrUnavailable
		case "PreconditionFailed":
			return ErrExists
		case "RequestTimeout", "SlowDown", "SlowDownRead", "SlowDownWrite", "InternalError", "ServiceUnavailable",
			"OperationAborted", "ConditionalRequestConflict", "XMinioServerNotInitialized":
			return ErrUnavailable
		case "NotImplemented":
			return nil
		case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "RequestTimeTooSkewed":
			return ErrDenied
		}
		switch status := answer.StatusCode; {
		case status == http.StatusNotFound:
			return ErrNotFound
		case status == http.StatusPreconditionFailed:
			return ErrExists
		case status == http.StatusUnauthorized, status == http.StatusForbidden:
			return ErrDenied
		case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500 && status != http.StatusNotImplemented:
			return ErrUnavailable
		}
		return nil
	}
	var netErr net.Error
	var urlErr *url.Error
	if errors.As(err, &netErr) || errors.As(err, &urlErr) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded) {
		return ErrUnavailable
	}
	return nil
}
