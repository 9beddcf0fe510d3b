import type { JsonObject } from '../facts/stated-facts.ts'
import { assertMembersUnderstood, assertReadsNewest } from './restricted-read.ts'

const understood: ReadonlySet<string> = new Set([
  'id',
  'context',
  'with_table_uri',
  'load_detailed_metadata',
  'check_declared',
  'vend_credentials',
  'version',
  'branch',
  'tag',
])

/** Throws InvalidInput (400) unless the newest version is described, by members or parameters that are understood. */
export function assertDescribesNewest(description: JsonObject): void {
  assertMembersUnderstood(description, understood)
  assertReadsNewest(description)
}
