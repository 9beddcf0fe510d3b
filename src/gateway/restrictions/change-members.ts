import { concatChunks } from '../body/read-body.ts'
import { JsonTransformer } from '../json/json-transformer.ts'
import type { MemberChanges } from './restricted-read.ts'

/** Replaces, adds and removes members of a JSON object that was checked. All others stay as they were sent, numbers too. */
export function changeMembers(body: Buffer, changes: MemberChanges): Buffer {
  const json = new JsonTransformer(
    { visitName: (name, depth) => (depth === 1 && changes.has(name) ? 'removal' : 'nothing') },
    body.length,
  )
  json.push(body.length === 0 ? Buffer.from('{}') : body)
  json.end()
  for (const [name, value] of changes)
    if (value !== undefined && json.root !== undefined) json.addMember(json.root, name, value)
  return concatChunks(json.takeRest())
}
