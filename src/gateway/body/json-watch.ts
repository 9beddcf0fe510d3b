import { refusal } from '../../interface/errors.ts'
import { show } from '../../interface/identifiers.ts'
import { JsonEdit } from './json-edit.ts'
import { JsonScanner } from './json-scanner.ts'

/**
 * What is wanted of a member. `value`: its text. `members`: the names within. `both`: the two together. `removal`:
 * that the text goes on without it.
 */
export type Interest = 'nothing' | 'value' | 'members' | 'both' | 'removal'

/** Receives the members of a JSON text. Every method may throw to refuse the text. */
export interface JsonWatcher {
  /**
   * Receives a name, decoded, and the object that it is a member of; the members of the outermost object have depth 1,
   * and a list is a level, too.
   */
  readonly name: (name: string, depth: number, object: MemberTarget) => Interest
  /** Whether the member of the last name counts as not sent if it is `{}` or `[]`: then the text goes on without it. */
  readonly emptyIsAbsent?: (name: string, depth: number) => boolean
  /** Receives the text of a value that was wanted; a returned text replaces it. */
  readonly value?: (text: string, name: string, depth: number) => string | undefined
}

/** Where a member begins: the brace or comma before its name. */
interface MemberStart {
  readonly object: OpenObject
  readonly separator: number
  readonly isComma: boolean
}

interface OpenObject {
  /** The offset behind its brace. */
  readonly begin: number
  /** Most objects have few: a list of them is made, and searched, faster than a set. */
  readonly first: string[]
  further: Set<string> | undefined
  /** What its names take of the room for names. */
  cost: number
  /** Whether a member of it stays. */
  keepsOne: boolean
}

/** An object of the text, to add members to. */
export type MemberTarget = Pick<OpenObject, 'begin' | 'keepsOne'>

interface Wanted {
  readonly name: string
  readonly depth: number
  from: number | undefined
  readonly begun: Buffer[]
}

const nothing = Buffer.alloc(0)

/** The names of all objects that are open, in characters and a share for each. */
const roomForNames = 4 * 1024 * 1024
const costOfName = 32
const fewNames = 8

/**
 * A JSON text of which every reader must have the same idea, in whatever pieces it comes: what JsonScanner demands,
 * and no name twice in any object. Of what it passes it keeps the names of open objects and the values that are
 * wanted, in bounded memory. Every method throws InvalidInput (400) for a text that cannot be good any more.
 */
export class WatchedJson {
  readonly #watcher: JsonWatcher
  readonly #maximumValueBytes: number
  readonly #scanner: JsonScanner
  readonly #edit = new JsonEdit()
  readonly #open: OpenObject[] = []
  #root: OpenObject | undefined
  #room = roomForNames
  #piece: Buffer = nothing
  /** Where the piece begins in the whole text. */
  #base = 0
  /** What stands before the next name, and where. */
  #separator = 0
  #isComma = false
  /** The watcher hears of nothing within the member that is open at this depth; 0 for none. */
  #quietDepth = 0
  #isRemoving = false
  /** A member that goes if it turns out to be empty. */
  #undecided: MemberStart | undefined
  /** The values that are being read, each within the one before. */
  readonly #wanted: Wanted[] = []

  constructor(watcher: JsonWatcher, maximumValueBytes: number) {
    this.#watcher = watcher
    this.#maximumValueBytes = maximumValueBytes
    this.#scanner = new JsonScanner({
      openObject: (at) => this.#openObject(at),
      comma: (at) => this.#separate(at, true),
      name: (name, depth) => this.#name(name, depth),
      value: (at) => {
        const wanted = this.#wanted.at(-1)
        if (wanted !== undefined) wanted.from ??= at
        if (this.#undecided !== undefined && !this.#opensList(at)) this.#keepUndecided()
      },
      firstItem: () => this.#keepUndecided(),
      valueEnd: (at, depth, isEmpty) => this.#valueEnd(at, depth, isEmpty),
      closeObject: () => this.#closeObject(),
    })
  }

  /** Reads the next piece, and keeps it until it is taken. */
  push(piece: Buffer): void {
    this.#piece = piece
    this.#edit.push(piece)
    this.#scanner.push(piece)
    for (const { name, from, begun } of this.#wanted) {
      if (from === undefined) continue
      this.#limitValue(name, this.#base + piece.length - from)
      begun.push(Buffer.from(piece.subarray(Math.max(0, from - this.#base))))
    }
    this.#base += piece.length
  }

  /** The text is at its end. Answers whether it is an object, and not `null` or empty. */
  end(): boolean {
    return this.#scanner.end()
  }

  /** Gives back, once, what stands before the last piece, without the members that were to be removed. */
  takeBeforeLast(): Buffer[] {
    const undecided = this.#undecided?.separator ?? this.#base
    // A value that is being read may still be replaced.
    const wanted = this.#wanted[0]?.from ?? this.#base
    const before = this.#base - this.#piece.length
    return this.#edit.take(Math.min(this.#scanner.settled, undecided, wanted, before))
  }

  /** Gives back all that is left, after the end. */
  takeRest(): Buffer[] {
    return this.#edit.take(this.#base)
  }

  /** Adds a member in front of all others of an object that was opened, before any of it is taken. */
  addMember(object: MemberTarget, name: string, value: unknown): void {
    const text = `${JSON.stringify(name)}:${JSON.stringify(value)}`
    this.#edit.insert(object.begin, object.keepsOne ? `${text},` : text)
    object.keepsOne = true
  }

  /** The outermost object, once it has begun. */
  get root(): MemberTarget | undefined {
    return this.#root
  }

  #openObject(at: number): void {
    const object = { begin: at + 1, first: [], further: undefined, cost: 0, keepsOne: false }
    this.#open.push(object)
    this.#root ??= object
    this.#separate(at, false)
  }

  #closeObject(): void {
    this.#room += this.#open.pop()?.cost ?? 0
  }

  #opensList(at: number): boolean {
    const byte = this.#piece[at - this.#base]
    return byte === 0x5b || byte === 0x7b
  }

  #separate(at: number, isComma: boolean): void {
    this.#separator = at
    this.#isComma = isComma
  }

  #name(name: string, depth: number): void {
    const object = this.#open.at(-1)
    if (object === undefined) return
    this.#keepUndecided()
    this.#addName(object, name)
    if (this.#quietDepth !== 0) return
    const interest = this.#watcher.name(name, depth, object)
    if (interest !== 'members' && interest !== 'both') this.#quietDepth = depth
    if (interest === 'value' || interest === 'both') {
      this.#wanted.push({ name, depth, from: undefined, begun: [] })
    }
    const start = { object, separator: this.#separator, isComma: this.#isComma }
    if (interest === 'removal') {
      this.#isRemoving = true
      this.#edit.cut(beginOf(start))
    } else if (this.#watcher.emptyIsAbsent?.(name, depth) === true) {
      this.#undecided = start
    } else {
      this.#keep(start)
    }
  }

  #keep({ object, separator, isComma }: MemberStart): void {
    // The members before it were removed, and their comma is left.
    if (isComma && !object.keepsOne) this.#edit.cut(separator, separator + 1)
    object.keepsOne = true
  }

  #keepUndecided(): void {
    if (this.#undecided === undefined) return
    this.#keep(this.#undecided)
    this.#undecided = undefined
  }

  #addName(object: OpenObject, name: string): void {
    if (object.first.includes(name) || object.further?.has(name) === true) {
      throw refusal('repeated_member', `the key ${show(name)} stands twice in one object of the body`)
    }
    if (object.first.length < fewNames) object.first.push(name)
    else (object.further ??= new Set()).add(name)
    const cost = costOfName + name.length
    object.cost += cost
    this.#room -= cost
    if (this.#room < 0)
      throw refusal('malformed_body', 'the names in the body take more memory than is given to them')
  }

  #valueEnd(at: number, depth: number, isEmpty: boolean): void {
    if (this.#undecided !== undefined && isEmpty) this.#edit.cut(beginOf(this.#undecided), at)
    const isAbsent = this.#undecided !== undefined && isEmpty
    this.#undecided = undefined
    if (depth === this.#quietDepth) {
      this.#quietDepth = 0
      if (this.#isRemoving) this.#edit.endCut(at)
      this.#isRemoving = false
    }
    const wanted = this.#wanted.at(-1)
    if (wanted?.depth !== depth || wanted.from === undefined) return
    this.#wanted.pop()
    const { name, from, begun } = wanted
    this.#limitValue(name, at - from)
    if (isAbsent) return
    const last = this.#piece.subarray(Math.max(0, from - this.#base), at - this.#base)
    const text = (begun.length === 0 ? last : Buffer.concat([...begun, last])).toString()
    const replacement = this.#watcher.value?.(text, name, depth)
    if (replacement !== undefined) this.#edit.replace(from, at, replacement)
  }

  #limitValue(name: string, bytes: number): void {
    if (bytes <= this.#maximumValueBytes) return
    throw refusal(
      'malformed_body',
      `${show(name)} in the body takes more than ${this.#maximumValueBytes} bytes`,
    )
  }
}

/** Where the text of a member begins that is removed: with its comma, or behind the brace. */
function beginOf({ separator, isComma }: MemberStart): number {
  return isComma ? separator : separator + 1
}
