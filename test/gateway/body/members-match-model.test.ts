import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CatalogError } from '../../../src/catalog-api/catalog-error.ts'
import { getOperation } from '../../../src/catalog-api/operations.ts'
import { assertKind, checkName } from '../../../src/gateway/body/body-members.ts'
import { JsonTransformer } from '../../../src/gateway/json/json-transformer.ts'
import { runAtOnce } from '../../../src/lib/async/run-in-slices.ts'
import { isOpen, type JsonForm, type JsonKind } from '../../../src/lib/json/json-form.ts'
import { getMembers } from '../../../src/lib/json/json-values.ts'
import { isThorough } from '../../support/thorough.ts'

// Compares the check of a text, which follows forms by depth, with a model: a walk over the parsed value.

const runs = isThorough ? 20_000 : 165
const names = ['a', 'b', 'c'] as const

const scalarForm = fc.constantFrom<JsonKind>('string', 'number', 'boolean').map((kind): JsonForm => ({
  kinds: new Set([kind]),
  members: new Map(),
  others: undefined,
  items: undefined,
}))

const { form } = fc.letrec<{ form: JsonForm; inner: JsonForm }>((tie) => ({
  form: fc
    .dictionary(fc.constantFrom(...names), tie('inner'), { maxKeys: 3 })
    .map((members) => objectForm(Object.entries(members), undefined)),
  inner: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalarForm,
    tie('form'),
    tie('inner').map((items): JsonForm => ({
      kinds: new Set<JsonKind>(['list']),
      members: new Map(),
      others: undefined,
      items,
    })),
    tie('inner').map((others) => objectForm([], others)),
    // Both an object and a list, as the columns of a query.
    fc.tuple(tie('form'), tie('inner')).map(([object, items]) => ({
      ...object,
      kinds: new Set<JsonKind>(['object', 'list']),
      items,
    })),
  ),
}))

function objectForm(
  members: readonly (readonly [string, JsonForm])[],
  others: JsonForm | undefined,
): JsonForm {
  return { kinds: new Set<JsonKind>(['object']), members: new Map(members), others, items: undefined }
}

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<unknown>('text', 1.5, true, null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 3 }),
  ),
}))

/** A value of the form, so that not every case is refused at once. */
function sample(one: JsonForm, other: unknown, take: () => boolean): unknown {
  if (one.kinds.has('object') && take()) {
    const members = [...one.members].filter(take).map(([name, member]) => [name, sample(member, other, take)])
    const others = one.others === undefined || take() ? [] : [['x', sample(one.others, other, take)]]
    return Object.fromEntries([...members, ...others])
  }
  if (one.items !== undefined)
    return [1, 2].filter(take).map(() => sample(one.items as JsonForm, other, take))
  if (one.kinds.has('string')) return 'text'
  if (one.kinds.has('number')) return 1
  return one.kinds.has('boolean') ? true : other
}

/** Whether every member is known and has a value of its kinds. Items of lists that are no objects are not compared. */
function isKnown(one: JsonForm, json: unknown): boolean {
  if (Array.isArray(json)) return json.every((item) => isKnownInside(one.items, item))
  if (typeof json !== 'object' || json === null) return true
  return Object.entries(json).every(([name, member]) => {
    const found = one.members.get(name) ?? one.others
    if (found === undefined) return false
    return member === null || (found.kinds.has(kindOf(member)) && isKnown(found, member))
  })
}

/** Only members are compared, so an empty object or list says nothing. */
function isKnownInside(one: JsonForm | undefined, item: unknown): boolean {
  if (one !== undefined) return isKnown(one, item)
  if (Array.isArray(item)) return item.every((inner) => isKnownInside(undefined, inner))
  return typeof item !== 'object' || item === null || Object.keys(item).length === 0
}

function kindOf(json: unknown): JsonKind {
  if (Array.isArray(json)) return 'list'
  return typeof json as JsonKind
}

function isAccepted(root: JsonForm, json: unknown): boolean {
  const operation = getOperation('TableExists')
  const text = new JsonTransformer(Buffer.from(JSON.stringify(json)), {
    form: root,
    visitMember: (member) => (isOpen(checkName(operation, member, new Set())) ? 'nothing' : 'members'),
    visitKind: assertKind,
  })
  try {
    runAtOnce(text.read())
    return true
  } catch (error) {
    if (error instanceof CatalogError) return false
    throw error
  }
}

it('accepts the texts that the model accepts', () => {
  const counts = { accepted: 0, refused: 0 }
  fc.assert(
    fc.property(form, value, fc.infiniteStream(fc.boolean()), (root, other, choices) => {
      const take = () => choices.next().value === true
      const json = getMembers(sample(root, other, take))
      const expected = isKnown(root, json)
      counts[expected ? 'accepted' : 'refused'] += 1
      expect(isAccepted(root, json)).toBe(expected)
      // A value without regard to the form.
      const free = { a: other, b: [other] }
      expect(isAccepted(root, free)).toBe(isKnown(root, free))
    }),
    { numRuns: runs },
  )
  expect(counts.accepted).toBeGreaterThan(runs / 10)
  expect(counts.refused).toBeGreaterThan(runs / 10)
})
