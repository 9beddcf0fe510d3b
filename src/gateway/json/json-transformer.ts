import { quoteForMessage, refusal } from '../../catalog-api/index.ts'
import { type JsonForm, type JsonKind, noValue, runAtOnce, type Steps } from '../../lib/index.ts'
import { JsonScanner, type JsonRoot } from './json-scanner.ts'

/**
 * The interest in a member. `value`: its text. `members`: the members within. `both`: the two together. `removal`: the
 * member is removed from the text.
 */
export type MemberInterest = 'nothing' | 'value' | 'members' | 'both' | 'removal'

/** Receives the members of a JSON text. Every method may throw to reject the text. */
export interface JsonVisitor {
  /** The form of the outermost value, if forms matter. */
  readonly form?: JsonForm | undefined
  readonly visitMember: (member: OpenMember) => MemberInterest
  /** Receives the kind of the value of a visited member, unless it is null. */
  readonly visitKind?: (kind: JsonKind, member: OpenMember) => void
  /** Whether a visited member counts as absent if it is `{}` or `[]`: then it is removed. */
  readonly isAbsentIfEmpty?: (member: OpenMember) => boolean
  /** Receives the text of a requested value, as edited; a returned text replaces it, and null removes its member. */
  readonly visitValue?: (text: string, member: OpenMember) => string | null | undefined
}

/** A member whose value has not ended. */
export class OpenMember {
  /** Decoded: `"\u0069d"` is `id`. */
  readonly name: string
  /** Members of the outermost object have depth 1; lists count as levels. */
  readonly depth: number
  readonly object: OpenObject
  /** The member whose value contains this one; lists are none. */
  readonly parent: OpenMember | undefined
  /** The form of its value; undefined if its object has no such member. */
  readonly form: JsonForm | undefined
  /** Offset of its text: with its comma, or behind the brace. */
  readonly from: number
  /** Whether another member remains before it. */
  readonly isFollowing: boolean
  /** Offset of its value, once that has begun. */
  valueFrom = 0

  constructor(name: string, depth: number, object: OpenObject, parent: OpenMember | undefined, from: number) {
    this.name = name
    this.depth = depth
    this.object = object
    this.parent = parent
    this.form = object.form.members.get(name) ?? object.form.others
    this.from = from
    this.isFollowing = object.hasMember
  }

  /** Names of the member and of those that contain it, joined by dots. */
  get path(): string {
    return this.parent === undefined ? this.name : `${this.parent.path}.${this.name}`
  }
}

/** An object that has not ended. */
export class OpenObject {
  readonly form: JsonForm
  /** Offset behind its brace. */
  readonly begin: number
  /** Whether any of its members remains. */
  hasMember = false
  /** Share of the budget for names that its names use. */
  nameCost = 0
  /** Most objects have few members: an array is faster to create and to search than a set. */
  readonly firstNames: string[] = []
  furtherNames: Set<string> | undefined = undefined

  constructor(form: JsonForm, begin: number) {
    this.form = form
    this.begin = begin
  }
}

/** A new text in place of a part of the text. */
interface Edit {
  readonly from: number
  readonly to: number
  readonly bytes: Buffer
}

const nothing = Buffer.alloc(0)

/** Budget for the names of all open objects: characters, plus a constant for each name. */
const maxNameCost = 4 * 1024 * 1024
const nameOverhead = 32
const maxListedNames = 8

/** A number in a list counts as this part of a value: vectors are long, but cheap to read. */
const numberShare = 0.1

/**
 * Reads and edits a JSON text, and rejects a text that parsers may read differently: it must satisfy JsonScanner, and no object
 * may repeat a name. Retains only the names of open objects and requested values, in bounded memory.
 */
export class JsonTransformer {
  /** The outermost object, once it has started. */
  root: OpenObject | undefined
  readonly #text: Buffer
  readonly #visitor: JsonVisitor
  readonly #maxValues: number
  readonly #isRequest: boolean
  readonly #scanner: JsonScanner
  /** In the order of the text; none is within another one. */
  readonly #edits: Edit[] = []
  readonly #objects: OpenObject[] = []
  /** By the depth of an object: its open member. By the depth of a list: the member that contains the list. */
  readonly #members: (OpenMember | undefined)[] = [undefined]
  /** By the depth of an object or list: the form of the value that is next in it. */
  readonly #forms: JsonForm[]
  #remainingNameCost = maxNameCost
  #values = 0
  /** The visitor is not called within the member that is open at this depth; 0 for none. */
  #skippedDepth = 0
  /** That member, if it is removed. */
  #removed: OpenMember | undefined
  /** The last named member, until its value begins, if it was visited and remains. */
  #named: OpenMember | undefined
  /** Members whose values are being read, each nested in the previous one. */
  readonly #wanted: OpenMember[] = []

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
    this.#maxValues = maxValues
    this.#isRequest = root === 'object'
    this.#forms = [visitor.form ?? noValue]
    const handler = {
      open: this.#open.bind(this),
      name: this.#beginMember.bind(this),
      value: (at: number, byte: number) => this.#beginValue(at, kindOf(byte)),
      item: (byte: number) => this.#beginItem(kindOf(byte)),
      valueEnd: this.#endValue.bind(this),
      closeObject: this.#closeObject.bind(this),
    }
    this.#scanner = new JsonScanner(text, handler, root)
  }

  /**
   * Reads the whole text. Returns whether it is an object, rather than `null` or empty. Throws InvalidInput (400, 413), and
   * what the visitor throws.
   */
  read(): Steps<boolean> {
    return this.#scanner.scan()
  }

  /** Adds a member at the start of an object. To be called when all has been read. */
  addMember(object: OpenObject, name: string, value: unknown): void {
    const text = `${JSON.stringify(name)}:${JSON.stringify(value)}`
    const bytes = Buffer.from(object.hasMember ? `${text},` : text)
    const behind = this.#edits.findIndex(({ from }) => from >= object.begin)
    this.#edits.splice(behind === -1 ? this.#edits.length : behind, 0, {
      from: object.begin,
      to: object.begin,
      bytes,
    })
    object.hasMember = true
  }

  /** Returns the text with all edits; the same bytes if there are none. */
  write(): Steps<Buffer> {
    return applyEdits(this.#text, this.#edits)
  }

  #open(at: number, depth: number, isObject: boolean): void {
    const form = this.#forms[depth - 1] ?? noValue
    if (!isObject) {
      this.#members[depth] = this.#members[depth - 1]
      this.#forms[depth] = form.items ?? noValue
      return
    }
    const object = new OpenObject(form, at + 1)
    this.#objects.push(object)
    this.root ??= object
  }

  #closeObject(): void {
    this.#remainingNameCost += this.#objects.pop()?.nameCost ?? 0
  }

  #beginMember(name: string, depth: number, separator: number): void {
    const object = this.#objects.at(-1)
    if (object === undefined) return
    this.#countValue(1)
    // Of a response, nobody reads what is removed, and it may be large.
    if (this.#removed === undefined || this.#isRequest) this.#addName(object, name)
    if (this.#skippedDepth !== 0) return
    const from = Math.max(separator, object.begin)
    const member = new OpenMember(name, depth, object, this.#members[depth - 1], from)
    this.#members[depth] = member
    this.#forms[depth] = member.form ?? noValue
    const interest = this.#visitor.visitMember(member)
    if (interest !== 'members' && interest !== 'both') this.#skippedDepth = depth
    if (interest === 'removal') {
      this.#removed = member
      return
    }
    this.#named = member
    // The members before it were removed, which left their comma.
    if (from === separator && !object.hasMember) this.#replace(from, from + 1, nothing)
    object.hasMember = true
    if (interest === 'value' || interest === 'both') this.#wanted.push(member)
  }

  #addName(object: OpenObject, name: string): void {
    if (object.firstNames.includes(name) || object.furtherNames?.has(name) === true)
      throw refusal('repeated_member', `duplicate key ${quoteForMessage(name)} in an object of the body`)
    if (object.firstNames.length < maxListedNames) object.firstNames.push(name)
    else (object.furtherNames ??= new Set()).add(name)
    const cost = nameOverhead + name.length
    object.nameCost += cost
    this.#remainingNameCost -= cost
    if (this.#remainingNameCost < 0)
      throw refusal('malformed_body', 'the names in the body take too much memory')
  }

  #beginValue(at: number, kind: JsonKind | undefined): void {
    const member = this.#named
    this.#named = undefined
    if (member === undefined) return
    member.valueFrom = at
    if (kind !== undefined) this.#visitor.visitKind?.(kind, member)
  }

  #beginItem(kind: JsonKind | undefined): void {
    if (kind !== 'number') this.#countValue(1)
    else if (this.#wanted.length > 0) this.#countValue(numberShare)
  }

  #countValue(share: number): void {
    this.#values += share
    if (this.#values <= this.#maxValues) return
    throw refusal(
      'body_too_large',
      `the body has more than ${this.#maxValues} members and list items; send it in parts`,
    )
  }

  #endValue(at: number, depth: number, isEmpty: boolean): void {
    let removed: OpenMember | undefined
    if (depth === this.#skippedDepth) {
      this.#skippedDepth = 0
      removed = this.#removed
      this.#removed = undefined
    }
    const member = this.#skippedDepth === 0 ? this.#members[depth] : undefined
    if (isEmpty && member !== undefined && this.#visitor.isAbsentIfEmpty?.(member) === true) removed = member
    const wanted = this.#wanted.at(-1)?.depth === depth ? this.#wanted.pop() : undefined
    if (removed !== undefined) this.#removeMember(removed, at)
    else if (wanted !== undefined) this.#visitValue(wanted, at)
  }

  #visitValue(member: OpenMember, end: number): void {
    const { valueFrom } = member
    const edits = this.#edits.slice(this.#findEdit(valueFrom))
    const text = runAtOnce(applyEdits(this.#text, edits, valueFrom, end)).toString()
    const replacement = this.#visitor.visitValue?.(text, member)
    if (replacement === null) this.#removeMember(member, end)
    else if (replacement !== undefined) this.#replace(valueFrom, end, Buffer.from(replacement))
  }

  #removeMember({ object, from, isFollowing }: OpenMember, end: number): void {
    this.#replace(from, end, nothing)
    object.hasMember = isFollowing
  }

  /** Replaces a part that ends where the text has been read, with all edits in it. */
  #replace(from: number, to: number, bytes: Buffer): void {
    this.#edits.splice(this.#findEdit(from), Number.POSITIVE_INFINITY, { from, to, bytes })
  }

  /** Index of the first edit behind an offset. What is edited is near the end, so it is searched from there. */
  #findEdit(at: number): number {
    let index = this.#edits.length
    while (index > 0 && (this.#edits[index - 1]?.from ?? 0) >= at) index -= 1
    return index
  }
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

const kindsByFirstByte: ReadonlyMap<number, JsonKind | undefined> = new Map([
  [0x22, 'string'],
  [0x7b, 'object'],
  [0x5b, 'list'],
  [0x74, 'boolean'],
  [0x66, 'boolean'],
  [0x6e, undefined],
])

/** Returns the kind of a value by its first byte; undefined for null. */
function kindOf(byte: number): JsonKind | undefined {
  return kindsByFirstByte.has(byte) ? kindsByFirstByte.get(byte) : 'number'
}
