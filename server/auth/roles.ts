// The roles as the edges see them; they are stored, so the database's part of the code has the list.
export { ROLES, roleIncludes, type Role } from '../db/roles';
