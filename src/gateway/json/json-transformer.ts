import { quoteForMessage, refusal } from '../../catalog-api/index.ts'
import { type JsonKind, runAtOnce, type Steps } from '../../lib/index.ts'
import { JsonEditor } from './json-editor.ts'
import { JsonScanner, type JsonRoot, type JsonScanHandler } from './json-scanner.ts'

/**
 * The interest in a member. `value`: its text. `members`: the names within. `both`: the two together. `removal`: the
 * member is removed from the text.
 */
export type MemberInterest = 'nothing' | 'value' | 'members' | 'both' | 'removal'

/** Receives the members of a JSON text. Every method may throw to reject the text. */
export interface JsonVisitor {
  /**
   * Receives a decoded name, and the object that contains it. Members of the outermost object have depth 1; lists count
   * as levels.
   */
  readonly visitName: (name: string, depth: number, object: OpenObjectReference) => MemberInterest
  /** Receives the kind of the value of the last named member, unless it is null. */
  readonly visitKind?: (kind: JsonKind) => void
  /** Whether the last named member counts as absent if it is `{}` or `[]`: then it is removed. */
  readonly isAbsentIfEmpty?: (name: string, depth: number) => boolean
  /** Receives the text of a requested value, as edited; a returned text replaces it, and null removes its member. */
  readonly visitValue?: (text: string, name: string, depth: number) => string | null | undefined
  /** Called at the start of each item of a list in a member of interest. Items have the depth of members in their place. */
  readonly visitItem?: (depth: number) => void
  /** Called at the end of each member that was named, before `visitValue`. */
  readonly leaveMember?: (depth: number) => void
}

/** Start of a member that remains unless its value ends otherwise. */
interface MemberStart {
  readonly object: OpenObject
  /** Offset of its text: with its comma, or behind the brace. */
  readonly from: number
  /** Whether another member remains before it. */
  readonly isFollowing: boolean
}

interface OpenObject {
  /** Offset behind its brace. */
  readonly begin: number
  /** Most objects have few members: an array is faster to create and to search than a set. */
  readonly firstNames: string[]
  furtherNames: Set<string> | undefined
  /** Share of the budget for names that its names use. */
  nameCost: number
  /** Whether any of its members remains. */
  hasMember: boolean
}

/** An open object, to add members to. */
export type OpenObjectReference = Pick<OpenObject, 'begin' | 'hasMember'>

interface PendingValue {
  readonly name: string
  readonly depth: number
  readonly start: MemberStart
  from: number | undefined
}

const nothing = Buffer.alloc(0)

/** Budget for the names of all open objects: characters, plus a constant for each name. */
const maxNameCost = 4 * 1024 * 1024
const nameOverhead = 32
const maxListedNames = 8

/** A number in a list counts as this part of a value: vectors are long, but cheap to read. */
const numberShare = 0.1

/** White space behind the outermost value that is held in a text that is taken before its end. */
const maxTrailingBytes = 64 * 1024

/** Bytes between two pauses: with the shortest members, some 0.3 ms of work. */
const stepBytes = 4096

/**
 * Transforms a JSON text that arrives in chunks, and rejects a text that parsers may read differently: it must satisfy
 * JsonScanner, and no object may repeat a name. Retains only the names of open objects and requested values, in bounded
 * memory. Every method throws InvalidInput (400, 413) once the text cannot be valid.
 */
export class JsonTransformer {
  /** The outermost object, once it has started. */
  root: OpenObjectReference | undefined
  readonly #visitor: JsonVisitor
  readonly #maxValueBytes: number
  readonly #scanner: JsonScanner
  readonly #editor = new JsonEditor()
  readonly #openObjects: OpenObject[] = []
  #remainingNameCost = maxNameCost
  readonly #maxValues: number
  #values = 0
  #chunk: Buffer = nothing
  /** Offset of the chunk in the whole text. */
  #chunkOffset = 0
  /** The separator before the next name, and its offset. */
  #separator = 0
  #isComma = false
  /** The visitor is not called within the member that is open at this depth; 0 for none. */
  #skippedDepth = 0
  #isRemoving = false
  /** Whether the value of the last named member has not begun. */
  #awaitsKind = false
  /** A member that is removed if it turns out to be empty. */
  #possiblyAbsent: MemberStart | undefined
  /** Values that are being read, each nested in the previous one. */
  readonly #pendingValues: PendingValue[] = []

  /**
   * `maxValues` is the maximum number of members and list items. Numbers in a list count as a tenth each, or not at all
   * if nothing requests them.
   */
  constructor(
    visitor: JsonVisitor,
    maximumValueBytes: number,
    root: JsonRoot = 'object',
    maxValues = Number.POSITIVE_INFINITY,
  ) {
    this.#visitor = visitor
    this.#maxValues = maxValues
    this.#maxValueBytes = maximumValueBytes
    const handler: JsonScanHandler = {
      openObject: (at) => this.#openObject(at),
      comma: (at) => this.#setSeparator(at, true),
      name: (name, depth) => this.#beginMember(name, depth),
      value: (at, byte) => this.#beginValue(at, kindOf(byte)),
      item: (depth, byte) => this.#beginItem(depth, kindOf(byte)),
      valueEnd: (at, depth, isEmpty) => this.#endValue(at, depth, isEmpty),
      closeObject: () => this.#closeObject(),
    }
    this.#scanner = new JsonScanner(handler, root)
  }

  /** Reads the next chunk, and holds it until it is taken. */
  push(chunk: Buffer): void {
    runAtOnce(this.pushInSteps(chunk))
  }

  /** Like `push`, with pauses. Nothing may be taken before the end. */
  *pushInSteps(chunk: Buffer): Steps<void> {
    this.#editor.push(chunk)
    this.#read(chunk.subarray(0, stepBytes))
    for (let from = stepBytes; from < chunk.length; from += stepBytes) {
      yield
      this.#read(chunk.subarray(from, from + stepBytes))
    }
  }

  #read(chunk: Buffer): void {
    this.#chunk = chunk
    this.#scanner.push(chunk)
    for (const { name, from } of this.#pendingValues)
      if (from !== undefined) this.#assertValueLength(name, this.#chunkOffset + chunk.length - from)
    this.#chunkOffset += chunk.length
  }

  /** Ends the text. Returns whether it is an object, rather than `null` or empty. */
  end(): boolean {
    return this.#scanner.end()
  }

  /**
   * Takes all but the end of the last chunk, without the removed members. The last byte of the outermost value, and what
   * follows it, is held until the end.
   */
  takeReady(): Buffer[] {
    if (this.#scanner.trailingBytes > maxTrailingBytes)
      throw refusal(
        'malformed_body',
        `the body has more than ${maxTrailingBytes} bytes of white space behind its end; omit them`,
      )
    const undecided = this.#possiblyAbsent?.from ?? this.#chunkOffset
    // A value that is being read may still be replaced, or its member removed.
    const wanted = this.#pendingValues[0]?.start.from ?? this.#chunkOffset
    const before = this.#chunkOffset - this.#chunk.length
    return this.#editor.takeUntil(Math.min(this.#scanner.safeEnd, undecided, wanted, before))
  }

  /** Takes the rest. Called after `end`. */
  takeRest(): Buffer[] {
    return this.#editor.takeUntil(this.#chunkOffset)
  }

  /** Adds a member at the start of an open object, before any part of that object is taken. */
  addMember(object: OpenObjectReference, name: string, value: unknown): void {
    const text = `${JSON.stringify(name)}:${JSON.stringify(value)}`
    this.#editor.insert(object.begin, object.hasMember ? `${text},` : text)
    object.hasMember = true
  }

  #openObject(at: number): void {
    const object = { begin: at + 1, firstNames: [], furtherNames: undefined, nameCost: 0, hasMember: false }
    this.#openObjects.push(object)
    this.root ??= object
    this.#setSeparator(at, false)
  }

  #closeObject(): void {
    this.#remainingNameCost += this.#openObjects.pop()?.nameCost ?? 0
  }

  #beginValue(at: number, kind: JsonKind | undefined): void {
    const wanted = this.#pendingValues.at(-1)
    if (wanted !== undefined) wanted.from ??= at
    if (this.#awaitsKind && kind !== undefined) this.#visitor.visitKind?.(kind)
    this.#awaitsKind = false
    if (kind !== 'list' && kind !== 'object') this.#possiblyAbsent = undefined
  }

  #setSeparator(at: number, isComma: boolean): void {
    this.#separator = at
    this.#isComma = isComma
  }

  #beginItem(depth: number, kind: JsonKind | undefined): void {
    this.#possiblyAbsent = undefined
    if (kind !== 'number') this.#countValue(1)
    else if (this.#pendingValues.length > 0) this.#countValue(numberShare)
    if (this.#skippedDepth === 0) this.#visitor.visitItem?.(depth)
  }

  #countValue(share: number): void {
    this.#values += share
    if (this.#values <= this.#maxValues) return
    throw refusal(
      'body_too_large',
      `the body has more than ${this.#maxValues} members and list items; send it in parts`,
    )
  }

  #beginMember(name: string, depth: number): void {
    const object = this.#openObjects.at(-1)
    if (object === undefined) return
    this.#possiblyAbsent = undefined
    this.#countValue(1)
    this.#addName(object, name)
    if (this.#skippedDepth !== 0) return
    const interest = this.#visitor.visitName(name, depth, object)
    this.#awaitsKind = interest !== 'removal'
    if (interest !== 'members' && interest !== 'both') this.#skippedDepth = depth
    const from = this.#isComma ? this.#separator : this.#separator + 1
    if (interest === 'removal') {
      this.#isRemoving = true
      this.#editor.replace(from, Number.POSITIVE_INFINITY, '')
      return
    }
    const start = { object, from, isFollowing: object.hasMember }
    // The members before it were removed, which left their comma.
    if (this.#isComma && !object.hasMember) this.#editor.replace(from, from + 1, '')
    object.hasMember = true
    if (interest === 'value' || interest === 'both')
      this.#pendingValues.push({ name, depth, start, from: undefined })
    if (this.#visitor.isAbsentIfEmpty?.(name, depth) === true) this.#possiblyAbsent = start
  }

  #addName(object: OpenObject, name: string): void {
    if (object.firstNames.includes(name) || object.furtherNames?.has(name) === true) {
      throw refusal('repeated_member', `duplicate key ${quoteForMessage(name)} in an object of the body`)
    }
    if (object.firstNames.length < maxListedNames) object.firstNames.push(name)
    else (object.furtherNames ??= new Set()).add(name)
    const cost = nameOverhead + name.length
    object.nameCost += cost
    this.#remainingNameCost -= cost
    if (this.#remainingNameCost < 0)
      throw refusal('malformed_body', 'the names in the body take too much memory')
  }

  #endValue(at: number, depth: number, isEmpty: boolean): void {
    const absent = isEmpty ? this.#possiblyAbsent : undefined
    this.#possiblyAbsent = undefined
    if (absent !== undefined) this.#removeMember(absent, at)
    if (depth === this.#skippedDepth) {
      this.#skippedDepth = 0
      if (this.#isRemoving) this.#editor.endLast(at)
      this.#isRemoving = false
    }
    if (this.#skippedDepth === 0) this.#visitor.leaveMember?.(depth)
    const wanted = this.#pendingValues.at(-1)
    if (wanted?.depth !== depth || wanted.from === undefined) return
    this.#pendingValues.pop()
    const { name, from, start } = wanted
    this.#assertValueLength(name, at - from)
    if (absent !== undefined) return
    const text = this.#editor.read(from, at).toString()
    const replacement = this.#visitor.visitValue?.(text, name, depth)
    if (replacement === null) this.#removeMember(start, at)
    else if (replacement !== undefined) this.#editor.replace(from, at, replacement)
  }

  #removeMember({ object, from, isFollowing }: MemberStart, end: number): void {
    this.#editor.replace(from, end, '')
    object.hasMember = isFollowing
  }

  #assertValueLength(name: string, bytes: number): void {
    if (bytes <= this.#maxValueBytes) return
    throw refusal(
      'malformed_body',
      `${quoteForMessage(name)} in the body is longer than ${this.#maxValueBytes} bytes`,
    )
  }
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
