import { invalidInput } from '../../interface/errors.ts'
import { show } from '../../interface/identifiers.ts'
import { JsonEdit } from './json-edit.ts'
import { JsonScanner } from './json-scanner.ts'

/**
 * What is wanted of a member. `value`: its text. `members`: to hear the names within. `both`: the two together.
 * `removal`: that the text goes on without it.
 */
export type Interest = 'nothing' | 'value' | 'members' | 'both' | 'removal'

/** Who watches a JSON text. Both may throw to refuse it. */
export interface JsonWatcher {
  /** Hears a name, as it is read; the members of the outermost object have depth 1. */
  readonly name: (name: string, depth: number) => Interest
  /** Hears the text of a value that was wanted. */
  readonly value?: (text: string, name: string, depth: number) => void
}

interface OpenObject {
  /** Most objects have few: a list of them is made, and searched, faster than a set. */
  readonly first: string[]
  further: Set<string> | undefined
  /** What its names take of the room for names. */
  cost: number
  /** Whether a member of it stays. */
  keepsOne: boolean
}

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
      },
      valueEnd: (at, depth) => this.#valueEnd(at, depth),
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
    return this.#edit.take(Math.min(this.#scanner.settled, this.#base - this.#piece.length))
  }

  /** Gives back all that is left, after the end. */
  takeRest(): Buffer[] {
    return this.#edit.take(this.#base)
  }

  #openObject(at: number): void {
    this.#open.push({ first: [], further: undefined, cost: 0, keepsOne: false })
    this.#separate(at, false)
  }

  #closeObject(): void {
    this.#room += this.#open.pop()?.cost ?? 0
  }

  #separate(at: number, isComma: boolean): void {
    this.#separator = at
    this.#isComma = isComma
  }

  #name(name: string, depth: number): void {
    const object = this.#open.at(-1)
    if (object === undefined) return
    this.#addName(object, name)
    if (this.#quietDepth !== 0) return
    const interest = this.#watcher.name(name, depth)
    if (interest !== 'members' && interest !== 'both') this.#quietDepth = depth
    if (interest === 'value' || interest === 'both') {
      this.#wanted.push({ name, depth, from: undefined, begun: [] })
    }
    if (interest === 'removal') {
      this.#isRemoving = true
      this.#edit.cut(this.#isComma ? this.#separator : this.#separator + 1)
    } else {
      // What stood before it was removed, and left its comma.
      if (this.#isComma && !object.keepsOne) this.#edit.cut(this.#separator, this.#separator + 1)
      object.keepsOne = true
    }
  }

  #addName(object: OpenObject, name: string): void {
    if (object.first.includes(name) || object.further?.has(name) === true) {
      throw invalidInput(`the key ${show(name)} stands twice in one object of the body`)
    }
    if (object.first.length < fewNames) object.first.push(name)
    else (object.further ??= new Set()).add(name)
    const cost = costOfName + name.length
    object.cost += cost
    this.#room -= cost
    if (this.#room < 0) throw invalidInput('the names in the body take more memory than is given to them')
  }

  #valueEnd(at: number, depth: number): void {
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
    const last = this.#piece.subarray(Math.max(0, from - this.#base), at - this.#base)
    this.#watcher.value?.(
      (begun.length === 0 ? last : Buffer.concat([...begun, last])).toString(),
      name,
      depth,
    )
  }

  #limitValue(name: string, bytes: number): void {
    if (bytes <= this.#maximumValueBytes) return
    throw invalidInput(`${show(name)} in the body takes more than ${this.#maximumValueBytes} bytes`)
  }
}
