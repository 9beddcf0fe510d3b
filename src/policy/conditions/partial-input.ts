import type { ConditionInput } from './authorization-request.ts'
import { pendingFactError } from './fact.ts'

/** Input of conditions for which only some parts are known: all others are pending. */
export class PartialInput implements ConditionInput {
  readonly #known: Partial<ConditionInput>

  constructor(known: Partial<ConditionInput>) {
    this.#known = known
  }

  get permission(): ConditionInput['permission'] {
    return readKnown(this.#known.permission)
  }

  get principal(): ConditionInput['principal'] {
    return readKnown(this.#known.principal)
  }

  get request(): ConditionInput['request'] {
    return readKnown(this.#known.request)
  }

  get operation(): ConditionInput['operation'] {
    return readKnown(this.#known.operation)
  }

  get kind(): ConditionInput['kind'] {
    return readKnown(this.#known.kind)
  }

  get id(): ConditionInput['id'] {
    return readKnown(this.#known.id)
  }

  get tags(): ConditionInput['tags'] {
    return readKnown(this.#known.tags)
  }
}

function readKnown<Part>(part: Part | undefined): Part {
  if (part === undefined) throw pendingFactError
  return part
}
