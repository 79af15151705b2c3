package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"forager/internal/platform/pipeline"
)

// Store is one bucket. It is safe for concurrent use.
type Store struct {
	core   minio.Core
	bucket string
	region string
	// unconditional: the server does not support If-None-Match on a Put.
	unconditional atomic.Bool
}

// Object is an entry of a listing.
type Object struct {
	Key      string
	Size     int64 // bytes
	Modified time.Time
}

// Open returns the store of the settings. It does not connect to the server.
func Open(cfg pipeline.S3) (*Store, error) {
	endpoint, err := url.Parse(cfg.Endpoint)
	if err != nil || endpoint.Host == "" || (endpoint.Scheme != "http" && endpoint.Scheme != "https") || endpoint.Path != "" && endpoint.Path != "/" {
		return nil, fmt.Errorf("s3.endpoint %q is not http://host:port or https://host", cfg.Endpoint)
	}
	if cfg.Bucket == "" {
		return nil, errors.New("s3.bucket is empty")
	}
	if _, err := cfg.Login(); err != nil {
		return nil, err
	}
	region := cfg.Region
	if region == "" {
		region = "us-east-1"
	}
	secure := endpoint.Scheme == "https"
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, fmt.Errorf("s3 transport: %w", err)
	}
	transport.Proxy = nil // addresses are those of pipeline.yaml; ignore proxies of the environment
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:        credentials.New(keys{pipeline.Later(cfg.Login)}),
		Secure:       secure,
		Transport:    transport,
		Region:       region,
		BucketLookup: lookup(endpoint),
		MaxRetries:   1,
	})
	if err != nil {
		return nil, fmt.Errorf("s3.endpoint %s: %w", cfg.Endpoint, err)
	}
	return &Store{core: minio.Core{Client: client}, bucket: cfg.Bucket, region: region}, nil
}

// keys provides the access keys of a server.
type keys struct{ *pipeline.LateLogin }

// Retrieve returns the keys, empty if the server requires none.
func (k keys) Retrieve() (credentials.Value, error) {
	login, err := k.Get()
	if err != nil || login.User == "" {
		return credentials.Value{SignerType: credentials.SignatureAnonymous}, err
	}
	return credentials.Value{AccessKeyID: login.User, SecretAccessKey: login.Password, SignerType: credentials.SignatureV4}, nil
}

// RetrieveWithCredContext is Retrieve.
func (k keys) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	return k.Retrieve()
}

// IsExpired is true while there are no keys.
func (k keys) IsExpired() bool { return !k.Known() }

// lookup returns where the bucket is named: servers other than Amazon's have it in the path.
func lookup(endpoint *url.URL) minio.BucketLookupType {
	if host := endpoint.Hostname(); len(host) > 14 && host[len(host)-14:] == ".amazonaws.com" {
		return minio.BucketLookupAuto
	}
	return minio.BucketLookupPath
}

// EnsureBucket creates the bucket if it is missing and reports whether it did.
func (s *Store) EnsureBucket(ctx context.Context) (created bool, err error) {
	ok, err := s.HasBucket(ctx)
	if err != nil || ok {
		return false, err
	}
	err = s.core.MakeBucket(ctx, s.bucket, minio.MakeBucketOptions{Region: s.region})
	switch minio.ToErrorResponse(err).Code {
	case "BucketAlreadyOwnedByYou", "BucketAlreadyExists":
		return false, nil // created by another process meanwhile
	}
	if err != nil {
		return false, classify(ctx, "create bucket", s.bucket, err)
	}
	return true, nil
}

// HasBucket reports whether the bucket exists.
func (s *Store) HasBucket(ctx context.Context) (bool, error) {
	ok, err := s.core.BucketExists(ctx, s.bucket)
	return ok, classify(ctx, "look for bucket", s.bucket, err)
}

// Put stores size bytes under a new name; ErrExists if the name is taken. A reader that can seek is
// not read into memory.
//
// After an error of class ErrUnavailable the object may have been stored nevertheless: use another
// name, or take ErrExists of the next try for success if the name contains a digest of the content.
// An error of both classes: the response was lost, and an object of that name exists.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if size < 0 {
		return fmt.Errorf("put object %s: size %d", key, size)
	}
	if s.unconditional.Load() {
		return s.putAfterLook(ctx, key, r, size, 0)
	}
	start, rewind := int64(0), false
	seeker, ok := r.(io.Seeker)
	if ok {
		at, err := seeker.Seek(0, io.SeekCurrent)
		start, rewind = at, err == nil
	}
	err := s.put(ctx, key, r, size, true)
	if errors.Is(err, ErrUnavailable) && ctx.Err() == nil && s.has(ctx, key) {
		// A server may refuse a taken name and close the connection before it has read the content,
		// so that the refusal is lost. Or the content arrived and the response did not.
		return fmt.Errorf("%w, and there is one of the name: %w", err, ErrExists)
	}
	within := time.Duration(0)
	switch {
	case minio.ToErrorResponse(errors.Unwrap(err)).Code == "NotImplemented":
		s.unconditional.Store(true)
	case errors.Is(err, ErrExists):
		// versitygw 1.8.0 keeps attributes of an object in a file of their own where the file system has none, writes them
		// first and looks only at them: a server killed between the two writes has a taken name without an object.
		within = publishing
	default:
		return err
	}
	if !rewind {
		return fmt.Errorf("%w: the content was read and cannot be sent a second time: %w", ErrUnavailable, err)
	}
	if _, err := seeker.Seek(start, io.SeekStart); err != nil {
		return fmt.Errorf("put object %s: %w", key, err)
	}
	return s.putAfterLook(ctx, key, r, size, within)
}

// publishing is how long the object of a taken name may take to appear: another writer may be between the two writes.
const publishing = time.Second

func (s *Store) put(ctx context.Context, key string, r io.Reader, size int64, onlyNew bool) error {
	// One request an object: not every server supports a condition on a multipart upload.
	opts := minio.PutObjectOptions{ContentType: "application/octet-stream", SendContentMd5: true, DisableMultipart: true}
	// With a chunked signature an empty object has one chunk, which versitygw 1.8.0 does not read
	// and then takes for the next request.
	opts.DisableContentSha256 = size == 0
	if onlyNew {
		opts.SetMatchETagExcept("*")
	}
	_, err := s.core.Client.PutObject(ctx, s.bucket, key, r, size, opts)
	return classify(ctx, "put object", key, err)
}

// has reports whether an object is known to exist.
func (s *Store) has(ctx context.Context, key string) bool {
	_, err := s.core.StatObject(ctx, s.bucket, key, minio.StatObjectOptions{})
	return err == nil
}

// putAfterLook looks for the name first, for so long; two concurrent calls may both succeed.
func (s *Store) putAfterLook(ctx context.Context, key string, r io.Reader, size int64, within time.Duration) error {
	for end := time.Now().Add(within); ; {
		_, err := s.core.StatObject(ctx, s.bucket, key, minio.StatObjectOptions{})
		if err == nil {
			return fmt.Errorf("put object %s: %w", key, ErrExists)
		}
		if err = classify(ctx, "look for object", key, err); !errors.Is(err, ErrNotFound) {
			return err
		}
		if !time.Now().Before(end) {
			return s.put(ctx, key, r, size, false)
		}
		select {
		case <-time.After(within / 20):
		case <-ctx.Done(): // the next look has its error
		}
	}
}

// Get returns a whole object.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	return s.read(ctx, key, minio.GetObjectOptions{}, -1)
}

// Range returns length bytes of an object from offset on; fewer are an error.
func (s *Store) Range(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	opts, err := rangeOf(key, offset, length)
	if err != nil {
		return nil, err
	}
	return s.read(ctx, key, opts, length)
}

// RangeUpTo returns up to length bytes of an object from offset on, which must be within it: at
// least one byte.
func (s *Store) RangeUpTo(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	opts, err := rangeOf(key, offset, length)
	if err != nil {
		return nil, err
	}
	return s.read(ctx, key, opts, -1)
}

func rangeOf(key string, offset, length int64) (minio.GetObjectOptions, error) {
	var opts minio.GetObjectOptions
	if offset < 0 || length <= 0 {
		return opts, fmt.Errorf("get object %s: range %d+%d", key, offset, length)
	}
	if err := opts.SetRange(offset, offset+length-1); err != nil {
		return opts, fmt.Errorf("get object %s: %w", key, err)
	}
	return opts, nil
}

// read reads one response; want is the number of bytes it must have, -1 = that of its header.
func (s *Store) read(ctx context.Context, key string, opts minio.GetObjectOptions, want int64) ([]byte, error) {
	body, info, _, err := s.core.GetObject(ctx, s.bucket, key, opts)
	if err != nil {
		return nil, classify(ctx, "get object", key, err)
	}
	defer body.Close()
	if want < 0 {
		want = info.Size
	}
	if info.Size != want {
		return nil, fmt.Errorf("get object %s: %d bytes in the range, want %d", key, info.Size, want)
	}
	b := make([]byte, want)
	if _, err := io.ReadFull(body, b); err != nil {
		return nil, classify(ctx, "get object", key, err)
	}
	return b, nil
}

// Delete removes an object. A missing object is no error.
func (s *Store) Delete(ctx context.Context, key string) error {
	err := classify(ctx, "delete object", key, s.core.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{}))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// List iterates over the objects whose names begin with prefix, in the order of names. An error
// ends it.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for info := range s.core.Client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
			if info.Err != nil {
				yield(Object{}, classify(ctx, "list objects under", prefix, info.Err))
				return
			}
			if !yield(Object{Key: info.Key, Size: info.Size, Modified: info.LastModified}, nil) {
				return
			}
		}
		// The client ends a cancelled listing as if it were complete.
		if err := ctx.Err(); err != nil {
			yield(Object{}, fmt.Errorf("list objects under %s: %w", prefix, err))
		}
	}
}
