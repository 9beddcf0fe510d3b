import { isDecisiveMember } from '../../catalog-api/decisive-members.ts'
import { refusal } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import type { Matched } from '../context.ts'
import { checkMember, checkQuery } from './check-member.ts'
import type { JsonVisitor } from '../json/json-transformer.ts'
import { assertMemberSpelling, foldMemberName } from '../facts/member-spelling.ts'

const envelopeMembers: ReadonlySet<string> = new Set(['id', 'identity', 'context'])

/**
 * Visits a map whose members are data of the caller: strings, or null to remove a key. Some catalogs also accept the
 * map wrapped in the member `metadata` of an ordinary request; `metadata` is then an object, which is not a valid map
 * value. Members next to a wrapped map follow the rules of any other body, and their facts are passed to `onMember`.
 * Nothing is removed: without its siblings, a wrapped map could be read as a bare one.
 */
export function createMapVisitor(
  request: Matched,
  onMember: (name: string, value: unknown) => void,
): JsonVisitor {
  let isWrapped = false
  /** Members that affect the decision if the map turns out to be wrapped. */
  const beside: [name: string, value: unknown][] = []

  function judge(name: string, value: unknown): void {
    assertMemberSpelling(name)
    if (typeof value === 'string' && envelopeMembers.has(name)) {
      throw refusal('invalid_body', `${quoteForMessage(name)} beside "metadata" in the body is text; omit it`)
    }
    if (name === 'identity' && value !== null) {
      throw refusal('invalid_body', '"identity" is not accepted beside "metadata"; send it as headers')
    }
    checkMember(request, name, value)
    if (name === 'query') checkQuery(request, value)
    onMember(name, value)
  }

  return {
    visitName: (name, depth) => (depth === 1 && canDecide(foldMemberName(name)) ? 'value' : 'nothing'),
    visitValue(text, name) {
      if (foldMemberName(name) === 'metadata' && text.startsWith('{')) {
        assertMemberSpelling(name)
        isWrapped = true
        onMember(name, {})
        for (const [other, value] of beside.splice(0)) judge(other, value)
        return undefined
      }
      const value: unknown = JSON.parse(text)
      // Map values are strings or null; any other value indicates the envelope of a request.
      const isEntry = typeof value === 'string' || value === null
      if (isWrapped || !isEntry) judge(name, value)
      else beside.push([name, value])
      return undefined
    },
  }
}

function canDecide(name: string): boolean {
  return envelopeMembers.has(name) || name === 'query' || isDecisiveMember(name)
}
