package proxy

import "maps"

// shelf holds a session's statements or portals by name, and knows about how much memory they are.
type shelf[T sized] struct {
	items map[string]T
	bytes int
}

// sized is an estimate in bytes that does not change.
type sized interface{ size() int }

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
