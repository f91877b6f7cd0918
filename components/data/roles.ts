import type { Me } from '../trpc/types';

type Role = Me['role'];

// What a role may not do is not offered; the server refuses it all the same.

export function mayAllocate(role: Role | undefined): boolean {
  return role !== undefined && role !== 'viewer';
}

export function mayOperate(role: Role | undefined): boolean {
  return role === 'operator' || role === 'admin';
}

export function mayAddServers(role: Role | undefined): boolean {
  return role === 'admin';
}
