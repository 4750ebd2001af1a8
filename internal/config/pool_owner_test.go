package config

import "testing"

func TestAnEnterprisesManagedUserMayOwnAPoolsRepositories(t *testing.T) {
	if err := checkRepositoryPattern("writer_acme/engine"); err != nil {
		t.Error(err)
	}
}
