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
import { type JsonForm, type JsonKind, suggestSimilar } from '../../lib/index.ts'
import { FormPath } from '../json/form-path.ts'

/** Compares the members of a JSON body, in the order of its text, with those that its operation may have. */
export class BodyMembers extends FormPath {
  /** Paths of members that are in the body because the settings of the upstream allow them. */
  readonly allowed = new Set<string>()
  readonly #operation: Operation
  readonly #root: JsonForm
  #isRecorded = false

  constructor(operation: Operation, form: JsonForm) {
    super(form)
    this.#operation = operation
    this.#root = form
  }

  /** Called when the record of the change has been created: an allowed member that it lacks is refused from now on. */
  freezeAllowed(): void {
    this.#isRecorded = true
  }

  /** Whether the body may have a member of that name. */
  has(name: string): boolean {
    return this.#root.members.has(name)
  }

  /**
   * Enters the member of that name in the last object at this depth, and returns its form. Throws InvalidInput (400) if
   * the object has no such member.
   */
  override enter(name: string, depth: number): JsonForm {
    const form = super.enter(name, depth)
    const { object } = this
    if (form === undefined) throw this.#unknownMemberError(name, depth, object)
    if (object === undefinedValue && isDecisiveName(name)) throw this.#reservedMemberError(name)
    const isAllowed = form === undefinedValue && object !== undefinedValue
    if (isAllowed && !isExtraOperation(this.#operation)) this.#allow(this.path)
    return form
  }

  #allow(path: string): void {
    if (this.#isRecorded && !this.allowed.has(path)) throw lateMemberError(path)
    this.allowed.add(path)
  }

  /** Throws InvalidInput (400) if the last entered member may not have a value of this kind. */
  assertKind(kind: JsonKind): void {
    const { form } = this
    if (form.kinds.has(kind)) return
    throw refusal(
      'invalid_body',
      `${quoteForMessage(this.path)} in the body is ${kindTexts[kind]}; expected ${describeForm(form)}`,
    )
  }

  #unknownMemberError(name: string, depth: number, { members }: JsonForm): CatalogError {
    const known = [...members.keys()]
    const folded = foldName(name)
    const meant = known.find((other) => foldName(other) === folded)
    if (meant !== undefined) {
      return refusal(
        'ambiguous_member',
        `the key ${quoteForMessage(name)} in the body is ambiguous; write ${quoteForMessage(meant)}`,
      )
    }
    if (depth === 1) assertFactSource(this.#operation, 'body', name)
    if (depth === 2 && this.nameAt(1) === 'query') assertFactSource(this.#operation, 'body.query', name)
    const remedy = isReservedName(name)
      ? 'omit it'
      : `omit it, or allow it by "allowedMembers" in the settings of the upstream${suggestSimilar(name, known)}`
    return refusal(
      'unknown_member',
      `${this.#operation.name} has no member ${quoteForMessage(this.path)} in its body; ${remedy}`,
    )
  }

  #reservedMemberError(name: string): CatalogError {
    return refusal(
      'unknown_member',
      `${quoteForMessage(this.path)} in the body has the name ${quoteForMessage(name)}, which has a meaning of its own in the catalog API; omit it`,
    )
  }
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

/** InvalidInput (400): the record of the change, which has been written, should have had the member. */
export function lateMemberError(name: string): CatalogError {
  return refusal(
    'invalid_body',
    `${quoteForMessage(name)} is too late in a body of this size; send it before large members`,
  )
}
