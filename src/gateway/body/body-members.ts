import {
  assertFactSource,
  type CatalogError,
  foldName,
  isDecisiveName,
  isExtraOperation,
  isReservedName,
  type Operation,
  quoteForMessage,
  refusal,
  undefinedValue,
} from '../../catalog-api/index.ts'
import { type JsonForm, type JsonKind, noValue, suggestSimilar } from '../../lib/index.ts'
import type { OpenMember } from '../json/json-transformer.ts'

/**
 * Returns the form of a member of a JSON body. Throws InvalidInput (400) if its object has no such member. Adds the path of
 * one that only the settings of the upstream allow to `allowed`.
 */
export function checkName(operation: Operation, member: OpenMember, allowed: Set<string>): JsonForm {
  const { name, form, object } = member
  if (form === undefined) throw unknownMemberError(operation, member)
  if (object.form !== undefinedValue) {
    if (form === undefinedValue && !isExtraOperation(operation)) allowed.add(member.path)
    return form
  }
  if (!isDecisiveName(name)) return form
  throw refusal(
    'unknown_member',
    `${quoteForMessage(member.path)} in the body has the name ${quoteForMessage(name)}, which has a meaning of its own in the catalog API; omit it`,
  )
}

/** Throws InvalidInput (400) if a member may not have a value of this kind. */
export function assertKind(kind: JsonKind, member: OpenMember): void {
  const { form = noValue } = member
  if (form.kinds.has(kind)) return
  throw refusal(
    'invalid_body',
    `${quoteForMessage(member.path)} in the body is ${kindTexts[kind]}; expected ${describeForm(form)}`,
  )
}

function unknownMemberError(
  operation: Operation,
  { name, depth, parent, path, object }: OpenMember,
): CatalogError {
  const known = [...object.form.members.keys()]
  const folded = foldName(name)
  const meant = known.find((other) => foldName(other) === folded)
  if (meant !== undefined) {
    return refusal(
      'ambiguous_member',
      `the key ${quoteForMessage(name)} in the body is ambiguous; write ${quoteForMessage(meant)}`,
    )
  }
  if (depth === 1) assertFactSource(operation, 'body', name)
  if (depth === 2 && parent?.name === 'query') assertFactSource(operation, 'body.query', name)
  const remedy = isReservedName(name)
    ? 'omit it'
    : `omit it, or allow it by "allowedMembers" in the settings of the upstream${suggestSimilar(name, known)}`
  return refusal(
    'unknown_member',
    `${operation.name} has no member ${quoteForMessage(path)} in its body; ${remedy}`,
  )
}

const kindTexts: Readonly<Record<JsonKind, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  list: 'a list',
}

function describeForm({ kinds, items }: JsonForm): string {
  const isOfStrings = items?.kinds.size === 1 && items.kinds.has('string')
  const texts = [...kinds].map((kind) =>
    kind === 'list' && isOfStrings ? 'a list of strings' : kindTexts[kind],
  )
  return texts.join(' or ') || 'null'
}
