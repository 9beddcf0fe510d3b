import { isUtf8 } from 'node:buffer'
import { quoteForMessage, refusal } from '../../catalog-api/index.ts'
import { type JsonForm, type JsonKind, noValue, runAtOnce, type Steps } from '../../lib/index.ts'
import {
  decodeName,
  invalidJsonError,
  readKind,
  skipColon,
  skipEmpty,
  skipName,
  skipScalar,
  skipSpaces,
  skipText,
} from './json-tokens.ts'

/**
 * The interest in a member. `value`: its text. `members`: the members within. `both`: the two together. `removal`: the
 * member is removed from the text.
 */
export type MemberInterest = 'nothing' | 'value' | 'members' | 'both' | 'removal'

/** Receives the members of a JSON text. Every method may throw to reject the text. */
export interface JsonVisitor {
  /** The form of the outermost value, if forms matter. */
  readonly form?: JsonForm | undefined
  /** Called at the start of the value of a member. */
  readonly visitMember: (member: OpenMember) => MemberInterest
  /** Receives the text of a requested value, as edited; a returned text replaces it, and null removes its member. */
  readonly visitValue?: (text: string, member: OpenMember) => string | null | undefined
}

/** A member whose value has not ended. */
export interface OpenMember {
  /** Decoded: `"\u0069d"` is `id`. */
  readonly name: string
  /** Members of the outermost object have depth 1; lists count as levels. */
  readonly depth: number
  readonly object: OpenLevel
  /** The member whose value contains this one; lists are none. */
  readonly parent: OpenMember | undefined
  readonly kind: JsonKind | 'null'
  /** Whether its value is `{}` or `[]`. */
  readonly isEmpty: boolean
  /** The form of its value; undefined if its object has no such member. */
  readonly form: JsonForm | undefined
  /** Offset of its text: with its comma, or behind the brace. */
  readonly from: number
  readonly valueFrom: number
  /** Whether another member remains before it. */
  readonly isFollowing: boolean
  interest: MemberInterest
}

/** Names of a member and of those that contain it, joined by dots. */
export function getPath({ name, parent }: OpenMember): string {
  return parent === undefined ? name : `${getPath(parent)}.${name}`
}

/** An object or a list that has not ended. */
export interface OpenLevel {
  readonly isList: boolean
  readonly form: JsonForm
  /** The member whose value contains it; lists are none. */
  readonly parent: OpenMember | undefined
  /** Offset behind its brace or bracket. */
  readonly begin: number
  /** The member of the object that was visited last. */
  member: OpenMember | undefined
  /** Whether any member of the object remains. */
  hasMember: boolean
  /** Names in the object, unless they may repeat. */
  names: Set<string> | undefined
}

/** A new text in place of a part of the text. */
interface Edit {
  readonly from: number
  readonly to: number
  readonly bytes: Buffer
}

/**
 * The accepted values. `object`: one, `null` or nothing; no object in it may repeat a name, because parsers differ in
 * whether the first or the last counts. `any`: any JSON value or nothing; members with a repeated name are all visited.
 */
type JsonRoot = 'object' | 'any'

const nothing = Buffer.alloc(0)
const byteOrderMark = Buffer.from('\ufeff')
const quote = 0x22
const comma = 0x2c
const closingBrace = 0x7d
const closingBracket = 0x5d

const maxDepth = 64

/** Bytes between two pauses: with the shortest members, some 0.3 ms of work. */
const stepBytes = 4096

/** A number in a list counts as this part of a value: vectors are long, but cheap to read. */
const numberWeight = 0.1

/**
 * Reads and edits a JSON text, and rejects one that parsers may read differently: it must be strict UTF-8 without a byte order
 * mark, RFC 8259, and at most 64 levels deep.
 */
export class JsonTransformer {
  /** The outermost object, once it has started. */
  root: OpenLevel | undefined
  readonly #text: Buffer
  readonly #visitor: JsonVisitor
  readonly #expected: JsonRoot
  readonly #maxValues: number
  /** In the order of the text; none is within another one. */
  readonly #edits: Edit[] = []
  /** Each is within the one before. */
  readonly #levels: OpenLevel[] = []
  #values = 0
  /** Whether an open member has no interest in the members within. */
  #isSkipping = false
  /** Number of open members whose values are requested. */
  #requested = 0

  /**
   * `maxValues` is the maximum number of members and list items. Numbers in a list count as a tenth each, or not at all
   * if nothing requests them.
   */
  constructor(
    text: Buffer,
    visitor: JsonVisitor,
    root: JsonRoot = 'object',
    maxValues = Number.POSITIVE_INFINITY,
  ) {
    this.#text = text
    this.#visitor = visitor
    this.#expected = root
    this.#maxValues = maxValues
  }

  /**
   * Reads the whole text. Returns whether there is an object in it. Throws InvalidInput (400, 413), and the errors of
   * the visitor.
   */
  *read(): Steps<boolean> {
    const text = this.#text
    let at = this.#begin()
    let pauseAt = stepBytes
    while (at < text.length) {
      if (at >= pauseAt) {
        yield
        pauseAt = at + stepBytes
      }
      const kind = readKind(text, at)
      if (kind === 'object' || kind === 'list') at = this.#beginLevel(at, kind === 'list')
      else if (kind === 'string') {
        at = skipText(text, at + 1, stepBytes)
        for (; text[at] !== quote; at = skipText(text, at, stepBytes)) yield
        at = this.#endValue(at + 1)
      } else at = this.#endValue(skipScalar(text, at))
    }
    if (this.#levels.length > 0) throw invalidJsonError()
    return this.root !== undefined
  }

  /** Adds a member at the start of an object. To be called when all has been read. */
  addMember(object: OpenLevel, name: string, value: unknown): void {
    const text = `${JSON.stringify(name)}:${JSON.stringify(value)}`
    const bytes = Buffer.from(object.hasMember ? `${text},` : text)
    const { begin } = object
    this.#edits.splice(this.#findEdit(begin), 0, { from: begin, to: begin, bytes })
    object.hasMember = true
  }

  /** Returns the text with all edits; the same bytes if there are none. */
  write(): Steps<Buffer> {
    return applyEdits(this.#text, this.#edits)
  }

  /** Returns the offset of the outermost value, or the end of the text. */
  #begin(): number {
    const text = this.#text
    if (!isUtf8(text)) throw refusal('malformed_body', 'the body is not valid UTF-8')
    if (text.subarray(0, byteOrderMark.length).equals(byteOrderMark))
      throw refusal('malformed_body', 'the body begins with a byte order mark; send plain UTF-8')
    const at = skipSpaces(text, 0)
    if (at === text.length || this.#expected === 'any') return at
    const kind = readKind(text, at)
    if (kind === 'object' || kind === 'null') return at
    throw refusal('malformed_body', 'the body is JSON, but not an object')
  }

  /** Begins an object or a list. Returns the offset of the next value. */
  #beginLevel(at: number, isList: boolean): number {
    const outer = this.#levels.at(-1)
    const parent = outer?.isList === true ? outer.parent : outer?.member
    const form =
      outer === undefined ? this.#visitor.form : outer.isList ? outer.form.items : outer.member?.form
    if (this.#levels.length === maxDepth)
      throw refusal('malformed_body', `the body is nested more than ${maxDepth} levels deep`)
    const level: OpenLevel = {
      isList,
      form: form ?? noValue,
      parent,
      begin: at + 1,
      member: undefined,
      hasMember: false,
      names: undefined,
    }
    if (!isList) this.root ??= level
    const emptyEnd = skipEmpty(this.#text, at)
    if (emptyEnd !== undefined) return this.#endValue(emptyEnd)
    this.#levels.push(level)
    return this.#beginItem(level, at)
  }

  /** Begins a member or item behind its separator, a comma or what opens the level. Returns the offset of its value. */
  #beginItem(level: OpenLevel, separator: number): number {
    const text = this.#text
    const at = skipSpaces(text, separator + 1)
    if (level.isList) {
      if (readKind(text, at) !== 'number') this.#countValue(1)
      else if (this.#requested > 0) this.#countValue(numberWeight)
      return at
    }
    const nameEnd = skipName(text, at)
    const name = decodeName(text, at, nameEnd)
    const valueFrom = skipColon(text, nameEnd)
    this.#countValue(1)
    if (this.#expected === 'object') addName(level, name)
    if (!this.#isSkipping) this.#visitMember(level, name, Math.max(separator, level.begin), valueFrom)
    return valueFrom
  }

  #visitMember(object: OpenLevel, name: string, from: number, valueFrom: number): void {
    const text = this.#text
    const member: OpenMember = {
      name,
      depth: this.#levels.length,
      object,
      parent: object.parent,
      kind: readKind(text, valueFrom),
      isEmpty: skipEmpty(text, valueFrom) !== undefined,
      form: object.form.members.get(name) ?? object.form.others,
      from,
      valueFrom,
      isFollowing: object.hasMember,
      interest: 'nothing',
    }
    const interest = this.#visitor.visitMember(member)
    member.interest = interest
    object.member = member
    this.#isSkipping = interest !== 'members' && interest !== 'both'
    if (interest === 'value' || interest === 'both') this.#requested += 1
    // The members before it were removed, which left their comma.
    if (text[from] === comma && !object.hasMember) this.#replace(from, from + 1, nothing)
    object.hasMember = true
  }

  #countValue(weight: number): void {
    this.#values += weight
    if (this.#values <= this.#maxValues) return
    throw refusal(
      'body_too_large',
      `the body has more than ${this.#maxValues} members and list items; send it in parts`,
    )
  }

  /** Ends a value, and the levels that end with it. Returns the offset of the next value, or the end of the text. */
  #endValue(end: number): number {
    const text = this.#text
    for (let at = end; ; at += 1) {
      const level = this.#levels.at(-1)
      // Members within a skipped value were not visited.
      if (level?.member !== undefined) this.#endMember(level.member, at)
      at = skipSpaces(text, at)
      if (level === undefined) {
        if (at < text.length) throw invalidJsonError()
        return at
      }
      if (text[at] === comma) return this.#beginItem(level, at)
      if (text[at] !== (level.isList ? closingBracket : closingBrace)) throw invalidJsonError()
      this.#levels.pop()
    }
  }

  #endMember(member: OpenMember, end: number): void {
    const { interest, valueFrom } = member
    this.#isSkipping = false
    const isRequested = interest === 'value' || interest === 'both'
    if (isRequested) this.#requested -= 1
    if (interest === 'removal') this.#removeMember(member, end)
    else if (isRequested) {
      const edits = this.#edits.slice(this.#findEdit(valueFrom))
      const text = runAtOnce(applyEdits(this.#text, edits, valueFrom, end)).toString()
      const replacement = this.#visitor.visitValue?.(text, member)
      if (replacement === null) this.#removeMember(member, end)
      else if (replacement !== undefined) this.#replace(valueFrom, end, Buffer.from(replacement))
    }
  }

  #removeMember({ object, from, isFollowing }: OpenMember, end: number): void {
    this.#replace(from, end, nothing)
    object.hasMember = isFollowing
  }

  /** Replaces a part that ends where the text has been read, with all edits in it. */
  #replace(from: number, to: number, bytes: Buffer): void {
    this.#edits.splice(this.#findEdit(from), Number.POSITIVE_INFINITY, { from, to, bytes })
  }

  /** Index of the first edit behind an offset. Searches from the end: new edits are near it. */
  #findEdit(at: number): number {
    let index = this.#edits.length
    while (index > 0 && (this.#edits[index - 1]?.from ?? 0) >= at) index -= 1
    return index
  }
}

function addName(object: OpenLevel, name: string): void {
  const names = (object.names ??= new Set())
  if (names.has(name))
    throw refusal('repeated_member', `duplicate key ${quoteForMessage(name)} in an object of the body`)
  names.add(name)
}

/** Parts that are copied between two pauses. */
const partsPerStep = 4096

/** Returns a part of a text with the edits in it. */
function* applyEdits(text: Buffer, edits: readonly Edit[], begin = 0, end = text.length): Steps<Buffer> {
  if (edits.length === 0) return text.subarray(begin, end)
  const length = edits.reduce((sum, { from, to, bytes }) => sum + bytes.length - (to - from), end - begin)
  const edited = Buffer.allocUnsafe(length)
  let read = begin
  let written = 0
  for (const [index, { from, to, bytes }] of edits.entries()) {
    written += text.copy(edited, written, read, from)
    written += bytes.copy(edited, written)
    read = to
    if (index % partsPerStep === partsPerStep - 1) yield
  }
  text.copy(edited, written, read, end)
  return edited
}

/** Transforms the JSON of a response, with pauses. Throws as JsonTransformer does. */
export function* transformInSteps(text: Buffer, visitor: JsonVisitor): Steps<Buffer> {
  const json = new JsonTransformer(text, visitor, 'any')
  yield* json.read()
  return yield* json.write()
}
