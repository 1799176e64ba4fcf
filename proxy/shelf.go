package proxy

import "maps"

// shelf holds a session's statements or portals by name, and knows about how much memory they are.
type shelf[T sized] struct {
	items map[string]T
	bytes int
}

// sized is an estimate in bytes that does not change; gone is told what is dropped.
type sized interface {
	size() int
	gone()
}

func newShelf[T sized]() shelf[T] { return shelf[T]{items: map[string]T{}} }

func (s *shelf[T]) get(name string) (T, bool) {
	v, ok := s.items[name]
	return v, ok
}

// put replaces what had the name.
func (s *shelf[T]) put(name string, v T) {
	s.drop(name)
	s.items[name] = v
	s.bytes += v.size()
}

func (s *shelf[T]) drop(name string) {
	if v, ok := s.items[name]; ok {
		v.gone()
		s.bytes -= v.size()
		delete(s.items, name)
	}
}

// dropIf forgets those that yes names.
func (s *shelf[T]) dropIf(yes func(name string, v T) bool) {
	for name, v := range maps.All(s.items) {
		if yes(name, v) {
			s.drop(name)
		}
	}
}

func (s *shelf[T]) clear() {
	s.dropIf(func(string, T) bool { return true })
}
