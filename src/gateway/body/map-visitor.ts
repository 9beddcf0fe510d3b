import { refusal } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import type { JsonVisitor } from '../json/json-transformer.ts'
import type { Matched } from '../context.ts'
import type { BodyMembers } from './body-members.ts'
import { checkMember, relativeIdError } from './check-member.ts'
import { isReservedMetadata } from '../../catalog-api/column-metadata.ts'
import { checkMetadata, readTexts } from './written-metadata.ts'

const envelopeMembers: ReadonlySet<string> = new Set(['id', 'identity', 'context'])

function checkEntries(entries: unknown): void {
  checkMetadata(readTexts(entries), 'the schema', false)
}

/**
 * Visits a map whose members are data of the caller: strings, or null to remove a key. Some catalogs also accept the
 * map wrapped in the member `metadata` of an ordinary request; `metadata` is then an object, which is not a valid map
 * value. Members beside a wrapped map are those of any other body, and their facts are passed to `onMember`. Nothing is
 * removed: without its siblings, a wrapped map could be read as a bare one.
 */
export function createMapVisitor(
  request: Matched,
  members: BodyMembers,
  onMember: (name: string, value: unknown) => void,
): JsonVisitor {
  let isWrapped = false
  /** Members that a wrapped map may have beside it. */
  const beside: [name: string, value: unknown][] = []
  /** The first key that only a bare map may have. */
  let firstKey: string | undefined
  let name = ''

  function checkBeside(member: string, value: unknown): void {
    const isText = typeof value === 'string' && envelopeMembers.has(member)
    if (isText || (member === 'identity' && value !== null) || (member === 'context' && !isEmpty(value))) {
      throw refusal(
        'invalid_body',
        `${quoteForMessage(member)} is not accepted beside "metadata" in the body; send it as headers`,
      )
    }
    if (checkMember(request, member, value) !== undefined) throw relativeIdError(member)
    onMember(member, value)
  }

  return {
    visitName(found, depth) {
      if (depth > 1) {
        members.enter(found, depth)
        return 'members'
      }
      name = found
      if (isWrapped || members.has(name)) {
        members.enter(name, depth)
        return 'both'
      }
      firstKey ??= name
      return isReservedMetadata(name) ? 'value' : 'nothing'
    },
    visitKind(kind) {
      if (isWrapped || (kind !== 'string' && members.has(name))) members.assertKind(kind)
      else if (kind !== 'string') {
        throw refusal(
          'invalid_body',
          `${quoteForMessage(name)} in the body is not a string; expected a map of strings`,
        )
      }
    },
    leaveMember: (depth) => members.leave(depth),
    visitValue(text, member, depth) {
      if (depth > 1) return undefined
      if (member === 'metadata' && text.startsWith('{')) {
        isWrapped = true
        if (firstKey !== undefined) members.enter(firstKey, 1)
        checkEntries(JSON.parse(text))
        onMember(member, {})
        for (const [other, value] of beside.splice(0)) checkBeside(other, value)
        return undefined
      }
      const value: unknown = JSON.parse(text)
      if (!members.has(member)) {
        checkEntries({ [member]: value })
        return undefined
      }
      // Values of a map are strings or null; any other value indicates the envelope of a request.
      const isEntry = typeof value === 'string' || value === null
      if (isWrapped || !isEntry) checkBeside(member, value)
      else beside.push([member, value])
      return undefined
    },
  }
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}
