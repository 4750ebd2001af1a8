package forgetest

// SetPrivate makes a repository private, or public.
func (s *Server) SetPrivate(login string, r *Repo, private bool) error {
	return s.as(login, func(u *User) error {
		r.private = private
		action := "publicized"
		if private {
			action = "privatized"
		}
		s.emit("repository", action, r, u, nil)
		return nil
	})
}
