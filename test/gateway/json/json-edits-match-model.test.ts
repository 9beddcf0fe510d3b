import fc from 'fast-check'
import { expect, it } from 'vitest'
import { runAtOnce } from '../../../src/lib/index.ts'
import {
  JsonTransformer,
  type MemberInterest,
  type OpenLevel,
  type OpenMember,
} from '../../../src/gateway/json/json-transformer.ts'
import { isThorough } from '../../support/thorough.ts'
import { anyCharacter } from '../../support/any-character.ts'

// Compares edits of a text with a model: a document that is known in its parts, edited by serializing it again.

/** A value with the parts of its text. */
type Node =
  | { readonly text: string }
  | { readonly items: readonly Item[]; readonly space: string }
  | { readonly members: readonly Member[]; readonly space: string }

interface Item {
  readonly before: string
  readonly value: Node
  readonly after: string
}

interface Member extends Item {
  readonly name: string
  /** The name as it is written. */
  readonly written: string
  readonly colon: string
}

const removed: ReadonlySet<string> = new Set(['identity', 'a'])
const absentIfEmpty: ReadonlySet<string> = new Set(['id', 'context', 'properties', ''])
const wanted: ReadonlySet<string> = new Set(['id', 'flag', 'properties'])
/** Members whose names are visited, and whose values are requested with their edits; the second is removed then. */
const both = 'columns'
const dropped = 'options'
/** Replaces the value of a flag. */
const replacement = '"in its place"'

const runs = isThorough ? 2_000 : 50

const space = fc.constantFrom('', '', '', ' ', '\n\t', '\r  ')
const name = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'id',
      'identity',
      'context',
      'properties',
      'flag',
      'query',
      'a',
      '',
      both,
      dropped,
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 4 }) },
)
const written = fc.tuple(name, fc.boolean()).map(([name, isEscaped]) => ({
  name,
  written: isEscaped
    ? `"${Array.from({ length: name.length }, (_, at) => `\\u${name.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`
    : JSON.stringify(name),
}))
const scalar = fc
  .oneof(
    fc.constantFrom('0', '-1.5E+7', 'true', 'null', '""', '"[]"', '"{\\"id\\":[]}"'),
    fc.string({ unit: anyCharacter, maxLength: 20 }).map((text) => JSON.stringify(text)),
  )
  .map((text): Node => ({ text }))

const { object } = fc.letrec<{ object: Node; value: Node }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.constant<Node>({ items: [], space: '' }),
    fc.constant<Node>({ members: [], space: ' ' }),
    fc.record({
      items: fc.array(fc.record({ before: space, value: tie('value'), after: space }), { maxLength: 3 }),
      space,
    }),
    tie('object'),
  ),
  object: fc.record({
    members: fc
      .uniqueArray(
        fc.record({ of: written, before: space, colon: space, value: tie('value'), after: space }),
        { maxLength: 6, selector: ({ of }) => of.name },
      )
      .map((members) => members.map(({ of, ...member }): Member => ({ ...member, ...of }))),
    space,
  }),
}))

interface Added {
  readonly name: string
  readonly value: unknown
}

/** Members to add to the outermost object, and to its object `query`. */
interface Additions {
  readonly root: readonly Added[]
  readonly query: readonly Added[]
}

const none: Additions = { root: [], query: [] }
const added = fc.uniqueArray(
  fc.record({ name: fc.constantFrom('new', 'newer'), value: fc.constantFrom<unknown>('ci/x', ['a'], {}) }),
  { maxLength: 2, selector: ({ name }) => name },
)

/** The text of a document before the edits. */
function write(node: Node): string {
  if ('text' in node) return node.text
  if ('items' in node) return `[${node.items.map(writeItem).join(',') || node.space}]`
  const members = node.members.map(
    (member) => `${member.before}${member.written}:${member.colon}${write(member.value)}${member.after}`,
  )
  return `{${members.join(',') || node.space}}`
}

function writeItem({ before, value, after }: Item): string {
  return `${before}${write(value)}${after}`
}

function isEmpty(node: Node): boolean {
  return ('items' in node && node.items.length === 0) || ('members' in node && node.members.length === 0)
}

function goes({ name, value }: Member): boolean {
  return removed.has(name) || name === dropped || (absentIfEmpty.has(name) && isEmpty(value))
}

/** The text of a document after the edits; a removed member leaves the whitespace after it. */
function writeEdited(node: Node, toAdd: readonly Added[] = [], ofQuery: readonly Added[] = []): string {
  if ('text' in node) return node.text
  if ('items' in node) {
    const items = node.items.map(({ before, value, after }) => `${before}${writeEdited(value)}${after}`)
    return `[${items.join(',') || node.space}]`
  }
  const front = toAdd.map(({ name, value }) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
  let text = [...front, ...(node.members.every(goes) || front.length === 0 ? [] : [''])].join(',')
  let isFirst = true
  for (const member of node.members) {
    if (!goes(member)) {
      text += `${isFirst ? '' : ','}${member.before}${member.written}:${member.colon}${editedValue(member, ofQuery)}`
      isFirst = false
    }
    text += member.after
  }
  return `{${node.members.length === 0 ? text + node.space : text}}`
}

function editedValue({ name, value }: Member, ofQuery: readonly Added[]): string {
  if (name === 'flag') return replacement
  // A value that is requested as a whole is not searched.
  if (wanted.has(name)) return write(value)
  return writeEdited(value, name === 'query' ? ofQuery : [])
}

/** The expected value, by JSON.parse. */
function edited(value: unknown, toAdd: readonly Added[], ofQuery: readonly Added[] = []): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => edited(item, []))
  const entries = Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    const isClosed =
      typeof member === 'object' &&
      member !== null &&
      Object.keys(member).length === 0 &&
      absentIfEmpty.has(name)
    if (removed.has(name) || name === dropped || isClosed) return []
    if (name === 'flag') return [[name, JSON.parse(replacement)] as const]
    return [[name, wanted.has(name) ? member : edited(member, name === 'query' ? ofQuery : [])] as const]
  })
  return Object.fromEntries([...toAdd.map(({ name, value }) => [name, value] as const), ...entries])
}

/** The requested values that remain, in order. */
function valuesIn(node: Node): [name: string, value: unknown][] {
  if ('text' in node) return []
  if ('items' in node) return node.items.flatMap(({ value }) => valuesIn(value))
  return node.members.flatMap((member): [string, unknown][] => {
    const { name } = member
    if (goes(member) && name !== dropped) return []
    if (wanted.has(name)) return [[name, JSON.parse(write(member.value))]]
    const within = valuesIn(member.value)
    if (name !== both && name !== dropped) return within
    return [...within, [name, JSON.parse(writeEdited(member.value))]]
  })
}

function interestIn({ name, isEmpty }: OpenMember): MemberInterest {
  if (removed.has(name) || (isEmpty && absentIfEmpty.has(name))) return 'removal'
  if (name === both || name === dropped) return 'both'
  return wanted.has(name) ? 'value' : 'members'
}

function replace(name: string): string | null | undefined {
  if (name === dropped) return null
  return name === 'flag' ? replacement : undefined
}

/** Transforms a document. */
function transform(original: string, additions: Additions) {
  const values: [name: string, value: unknown][] = []
  let query: OpenLevel | undefined
  const text = new JsonTransformer(Buffer.from(original), {
    visitMember(member) {
      if (member.depth === 2 && member.parent?.name === 'query') query = member.object
      return interestIn(member)
    },
    visitValue(text, { name }) {
      values.push([name, JSON.parse(text)])
      return replace(name)
    },
  })
  expect(runAtOnce(text.read())).toBe(true)
  const add = (object: OpenLevel | undefined, members: readonly Added[]): void => {
    // Added members are inserted at the start, so the last one comes first.
    for (const { name, value } of object ? members.toReversed() : []) {
      if (object !== undefined) text.addMember(object, name, value)
    }
  }
  add(text.root, additions.root)
  add(query, additions.query)
  return { sent: String(runAtOnce(text.write())), values, hasQuery: query !== undefined }
}

it('removes and replaces members, and changes no other byte', () => {
  let changed = 0
  fc.assert(
    fc.property(object, space, (document, around) => {
      const original = around + write(document) + around
      const expected = around + writeEdited(document) + around
      expect(JSON.parse(expected)).toEqual(edited(JSON.parse(original), []))
      if (expected !== original) changed += 1
      expect(transform(original, none)).toMatchObject({ sent: expected, values: valuesIn(document) })
    }),
    { numRuns: runs },
  )
  expect(changed).toBeGreaterThan(runs / 3)
})

it('adds members at the start, whatever is removed behind them', () => {
  let bare = 0
  fc.assert(
    fc.property(object, added, added, (document, root, query) => {
      const original = write(document)
      const { sent, hasQuery } = transform(original, { root, query })
      const ofQuery = hasQuery ? query : []
      if (root.length > 0 && writeEdited(document).trim().length === 2) bare += 1
      expect(sent).toBe(writeEdited(document, root, ofQuery))
      expect(JSON.parse(sent)).toEqual(edited(JSON.parse(original), root, ofQuery))
    }),
    { numRuns: runs },
  )
  // Including objects that become empty.
  expect(bare).toBeGreaterThan(runs / 75)
})
