import type { ConditionInput } from './authorization-request.ts'

/**
 * Creates the input of conditions for which only these parts are known, whatever the request. Reading another part calls
 * `onOther`, and throws.
 */
export function createPartialInput(
  known: Partial<ConditionInput>,
  onOther: () => void = () => undefined,
): ConditionInput {
  const requireRequest = (): never => {
    onOther()
    throw new Error('the condition depends on the request')
  }
  return {
    get permission() {
      return known.permission ?? requireRequest()
    },
    get principal() {
      return known.principal ?? requireRequest()
    },
    get request() {
      return known.request ?? requireRequest()
    },
    get operation() {
      return known.operation ?? requireRequest()
    },
    get kind() {
      return known.kind ?? requireRequest()
    },
    get id() {
      return known.id ?? requireRequest()
    },
    get tags() {
      return known.tags ?? requireRequest()
    },
  }
}
