import { canonicalizeWord, hasFactType, type FactName } from '../../catalog-api/facts.ts'
import type { Operation } from '../../catalog-api/operations.ts'

/**
 * Returns a mode or behavior as it is forwarded, so that catalogs read the one that was decided. The names of the
 * operation, in PascalCase or snake_case and in any case, stay as they are; another spelling, such as that of LanceDB's
 * client with quotes inside of the text, becomes the name.
 */
export function respellWord({ modes, behaviors }: Operation, fact: FactName, text: string): string {
  if (!hasFactType(fact, 'word')) return text
  const word = canonicalizeWord(text)
  const name = (fact === 'behavior' ? behaviors : modes).find((one) => canonicalizeWord(one) === word)
  // A word that is not known is refused.
  if (name === undefined) return text
  const spellings = [name, name.replaceAll(/(?<=.)[A-Z]/g, '_$&')].map((one) => one.toLowerCase())
  return /^[A-Za-z_]+$/.test(text) && spellings.includes(text.toLowerCase()) ? text : name
}
