import type { Principal } from '../../identity/index.ts'
import type { CallerVariable } from './filter-expression.ts'

/**
 * Reads the name of a fact of the caller, without `$`: `principal.name`, `principal.groups` or `principal.claims.NAME`.
 * Returns undefined for any other.
 */
export function parseVariable(text: string): CallerVariable | undefined {
  const path = text.split('.')
  const isKnown =
    text === 'principal.name' ||
    text === 'principal.groups' ||
    (path.length === 3 && text.startsWith('principal.claims.'))
  return isKnown ? { kind: 'variable', path } : undefined
}

/**
 * Returns the texts of a fact of the caller; undefined if the caller does not have it, or if it is anything but a text or
 * a list of texts that every engine reads alike.
 */
export function readVariable(
  { path: [, member, claim = ''] }: CallerVariable,
  principal: Principal,
): readonly string[] | undefined {
  const { name, groups, claims = {} } = principal
  const own = Object.hasOwn(claims, claim) ? claims[claim] : undefined
  const value = member === 'name' ? name : member === 'groups' ? [...groups] : own
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value]
  return texts.every(isShownText) ? texts : undefined
}

/** Whether a value is a text that everyone reads alike: an engine, and the reader of an audit record. */
function isShownText(value: unknown): value is string {
  return typeof value === 'string' && !/[\\\p{C}\u2028\u2029]/u.test(value)
}
