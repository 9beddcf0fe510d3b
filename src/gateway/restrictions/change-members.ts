import { concatChunks } from '../body/read-body.ts'
import { JsonTransformer } from '../json/json-transformer.ts'
import type { MemberChanges } from './restricted-read.ts'

/**
 * Replaces, adds and removes members of a JSON object that was checked, for which nothing and `null` count as `{}`. All
 * others stay as they were sent, numbers too.
 */
export function changeMembers(body: Buffer, changes: MemberChanges): Buffer {
  const json = new JsonTransformer(
    { visitName: (name, depth) => (depth === 1 && changes.has(name) ? 'removal' : 'nothing') },
    body.length,
  )
  json.push(body)
  const { root } = json
  if (root === undefined) return changeMembers(Buffer.from('{}'), changes)
  json.end()
  for (const [name, value] of changes) if (value !== undefined) json.addMember(root, name, value)
  return concatChunks(json.takeRest())
}
