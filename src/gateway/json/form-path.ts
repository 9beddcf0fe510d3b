import { type JsonForm, noValue } from '../../lib/index.ts'

/** Follows a JSON text, member by member, through the forms that its values have. */
export class FormPath {
  /** Form of the last entered member. */
  form: JsonForm
  /** Form of the object that contains the last entered member. */
  object: JsonForm
  /** Forms and names of the open members by depth; lists are levels without either. */
  readonly #forms: (JsonForm | undefined)[]
  readonly #names: (string | undefined)[] = [undefined]
  /** Depth of the last entered member; 0 if a member that contains it has ended. */
  #depth = 0

  constructor(root: JsonForm) {
    this.#forms = [root]
    this.form = root
    this.object = root
  }

  /** Enters the member of that name in the last object at this depth. Returns its form; undefined if it has none. */
  enter(name: string, depth: number): JsonForm | undefined {
    // The next member of an object, or of the next object in a list, is in an object of the same form.
    if (depth !== this.#depth) this.object = this.#findObject(depth)
    const form = this.object.members.get(name) ?? this.object.others
    this.form = form ?? noValue
    this.#forms[depth] = this.form
    this.#names[depth] = name
    this.#depth = depth
    return form
  }

  /** Leaves the member at this depth. */
  leave(depth: number): void {
    this.#forms[depth] = undefined
    this.#names[depth] = undefined
    // The next member at the depth of the last one may be in a list in a list.
    if (depth < this.#depth) this.#depth = 0
  }

  /** Names of the last entered member and of those that contain it, joined by dots. */
  get path(): string {
    const names = this.#names.slice(0, this.#depth + 1)
    return names.filter((name) => name !== undefined).join('.')
  }

  /** Returns the name of the open member at a depth; undefined for a list. */
  nameAt(depth: number): string | undefined {
    return this.#names[depth]
  }

  #findObject(depth: number): JsonForm {
    // The levels without an open member are lists.
    let at = depth - 1
    while (at > 0 && this.#forms[at] === undefined) at -= 1
    let form = this.#forms[at] ?? noValue
    for (let list = at + 1; list < depth; list += 1) form = form.items ?? noValue
    return form
  }
}
