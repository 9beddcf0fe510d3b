import type { Permission } from '../../catalog-api/permissions.ts'

/**
 * A commit requirement as plain data; its JSON is the text of the condition. `allowWholeTable` are the changes of whole
 * tables that it allows nevertheless.
 */
export type RequirementData =
  | { readonly metadata: readonly string[] }
  | { readonly branches: readonly string[]; readonly allowWholeTable?: readonly Permission[] }
  | { readonly notBranches: readonly string[]; readonly allowWholeTable?: readonly Permission[] }
  | { readonly folders: readonly string[] }
  | { readonly freeze: { readonly from?: string; readonly until?: string } }
