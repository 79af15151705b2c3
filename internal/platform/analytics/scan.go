package analytics

import (
	"context"
	"fmt"
	"reflect"
	"time"
)

// each runs a query and calls f for each row. A row is a T: a struct whose fields are the columns in their order (fields without a column
// are zero), or the only column. Numbers are converted, and an integer to a bool; NULL is zero.
func each[T any](ctx context.Context, d *DB, sql string, params Params, f func(T) error) error {
	fields := fieldsOf(reflect.TypeFor[T]())
	return d.Each(ctx, sql, params, func(row []any) error {
		var x T
		if err := scan(row, reflect.ValueOf(&x).Elem(), fields); err != nil {
			return err
		}
		return f(x)
	})
}

// collect returns the rows of a query; see each.
func collect[T any](ctx context.Context, d *DB, sql string, params Params) (list []T, err error) {
	err = each(ctx, d, sql, params, func(x T) error {
		list = append(list, x)
		return nil
	})
	return list, err
}

// single returns the only row of a query, zero if there is none; see each.
func single[T any](ctx context.Context, d *DB, sql string, params Params) (row T, err error) {
	err = each(ctx, d, sql, params, func(x T) error {
		row = x
		return nil
	})
	return row, err
}

// fieldsOf returns the indices of the fields that columns are read into; that of a type that is a column itself is empty.
func fieldsOf(t reflect.Type) [][]int {
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return [][]int{nil}
	}
	var fields [][]int
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			fields = append(fields, f.Index)
		}
	}
	return fields
}

// scan sets the fields of to to the columns of a row.
func scan(row []any, to reflect.Value, fields [][]int) error {
	if len(row) > len(fields) {
		return fmt.Errorf("a row of the result has %d columns, %s has %d", len(row), to.Type(), len(fields))
	}
	for i, column := range row {
		v, field := reflect.ValueOf(column), to
		for _, index := range fields[i] {
			field = field.Field(index)
		}
		switch {
		case !v.IsValid():
		case v.Type() == field.Type():
			field.Set(v)
		case v.CanUint() && field.Kind() == reflect.Bool:
			field.SetBool(v.Uint() != 0)
		case v.CanUint() && (field.CanInt() || field.CanUint()):
			field.Set(v.Convert(field.Type()))
		default:
			return fmt.Errorf("column %d of the result is a %s, its field in %s a %s", i+1, v.Type(), to.Type(), field.Type())
		}
	}
	return nil
}
