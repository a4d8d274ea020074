package inspect

import (
	"net/http"
	"testing"
)

// AddUser adds a user to MLflow.
func (s MLflow) AddUser(t testing.TB, name, password string) {
	t.Helper()
	s.Call(t, http.MethodPost, "users/create", map[string]any{"username": name, "password": password}, nil)
}

// Allow gives a user a permission, such as READ or MANAGE, on a registered model on which there is none yet.
func (s MLflow) Allow(t testing.TB, user, model, permission string) {
	t.Helper()
	s.call(t, http.MethodPost, "3.0/mlflow/users/permissions/grant", map[string]any{
		"username": user, "resource_type": "registered_model", "resource_id": model, "permission": permission,
	}, nil)
}

// Disallow takes from a user the permission on a registered model.
func (s MLflow) Disallow(t testing.TB, user, model string) {
	t.Helper()
	s.call(t, http.MethodPost, "3.0/mlflow/users/permissions/revoke", map[string]any{
		"username": user, "resource_type": "registered_model", "resource_id": model,
	}, nil)
}

// AddWorkspace adds a workspace, and lets users create registered models in it.
func (s MLflow) AddWorkspace(t testing.TB, name string, users ...string) {
	t.Helper()
	s.call(t, http.MethodPost, "3.0/mlflow/workspaces", map[string]any{"name": name}, nil)
	if len(users) == 0 {
		return
	}
	var made struct{ Role struct{ ID int } }
	s.call(t, http.MethodPost, "3.0/mlflow/roles/create", map[string]any{"name": "may-create", "workspace": name}, &made)
	s.call(t, http.MethodPost, "3.0/mlflow/roles/permissions/add", map[string]any{
		"role_id": made.Role.ID, "resource_type": "workspace", "resource_pattern": "*", "permission": "USE",
	}, nil)
	for _, user := range users {
		s.call(t, http.MethodPost, "3.0/mlflow/roles/assign", map[string]any{"role_id": made.Role.ID, "username": user}, nil)
	}
}

// DeleteWorkspace deletes a workspace, and moves what is in it to the default one.
func (s MLflow) DeleteWorkspace(t testing.TB, name string) {
	t.Helper()
	s.call(t, http.MethodDelete, "3.0/mlflow/workspaces/"+name+"?mode=SET_DEFAULT", nil, nil)
}
