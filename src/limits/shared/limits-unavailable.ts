import { InterfaceError } from '../../interface/errors.ts'

/** What callers took cannot be known, and the settings say that nobody is let in then: 503 with `retry-after`. */
export class LimitsUnavailable extends InterfaceError {
  constructor() {
    super('ServiceUnavailable', 'what callers have taken cannot be counted now; expected a pause', {
      headers: { 'retry-after': '1' },
    })
  }
}
