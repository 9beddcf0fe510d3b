import { assertIdentifier, assertSeparable, type Identifier } from '../../catalog-api/identifiers.ts'
import type { Upstream } from './upstream.ts'

/** Throws InvalidInput (400) for an id that the upstream could parse as another one, or with quotes that it may misread. */
export function assertNamesAccepted(
  id: Identifier,
  { separators, quotesInNames }: Pick<Upstream, 'separators' | 'quotesInNames'>,
): void {
  assertIdentifier(id, quotesInNames)
  assertSeparable(id, separators)
}
