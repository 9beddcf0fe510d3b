import fc from 'fast-check'

/* YAML texts in many styles, most of them plain, and what becomes of them in careless hands. */

/** Takes what may be written in several ways, and chooses one. */
type Choose = <Value>(...values: readonly Value[]) => Value

const words = [
  'a',
  'b1',
  'read',
  'team-5',
  'corp:bob',
  's3://b/x',
  'x_*',
  'a.b',
  '(x)',
  'true',
  'null',
  'False',
]
const numbers = [
  '0',
  '7',
  '404',
  '007',
  '1.5',
  '1e3',
  '0x1f',
  '0o17',
  '192.0.2.1',
  '2001:db8::/32',
  '2026-12-20',
]
const quoted = [
  `'it''s'`,
  `"a\\"b"`,
  `"\\u00e9\\n"`,
  `""`,
  `''`,
  `"# no: comment"`,
  `'- x'`,
  `"\\ud83d\\ude00"`,
]
const sentences = [
  'two words',
  'a "quote" in it',
  'x != y',
  "it's so",
  'a, b [c] {d}',
  'end. ',
  'é and e\u0301',
]
const strange = [
  '*x',
  '&x a',
  '!!str 1',
  '!x a',
  '|\n  text',
  '>-\n  more\n  text',
  '~',
  '-1',
  '.5',
  '-',
  '?',
  '"\\x41"',
]
const scalar = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(...words) },
  { weight: 10, arbitrary: fc.constantFrom(...numbers, ...quoted, ...sentences) },
  { weight: 1, arbitrary: fc.constantFrom(...strange, '') },
)
const key = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom('a', 'b', 'kind', 'k-1', 'rules', 'x.y', 'when') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('"q"', `'s'`, '"a\\"b"', 'c:d', 'true', '1', '<<', 'a b', '? x', '[a]', ''),
  },
)

type Tree = string | readonly Tree[] | { readonly pairs: readonly (readonly [string, Tree])[] }

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.array(fc.tuple(key, tie('tree')), { maxLength: 4 }).map((pairs) => ({ pairs })),
  ),
}))

/** Texts of several documents. */
export const writtenYaml: fc.Arbitrary<string> = fc
  .tuple(fc.array(tree, { minLength: 1, maxLength: 3 }), fc.infiniteStream(fc.nat()))
  .map(([trees, stream]) => {
    const choose: Choose = (...values) => {
      const { value } = stream.next() as { value: number }
      return values[value % values.length] as (typeof values)[number]
    }
    const documents = trees.map((tree) => onLines(tree, 0, choose))
    return documents.join(choose('---\n', '---\n', '---\n# next\n', '--- \n', '---  # next\n', '...\n---\n'))
  })

/** Whole lines. */
function onLines(tree: Tree, column: number, choose: Choose): string {
  const margin = ' '.repeat(column)
  if (typeof tree === 'string' || choose(false, false, true)) {
    return `${margin}${inFlow(tree, column, choose)}${ending(choose)}`
  }
  const step = choose(1, 2, 2, 4)
  const isList = Array.isArray(tree)
  const lines = isList
    ? (tree as readonly Tree[]).map(
        (item) => `${margin}-${choose(' ', ' ', '  ')}${afterDash(item, column, choose)}`,
      )
    : pairsOf(tree).map(([key, value]) => {
        const isNested = typeof value !== 'string' && choose(true, true, false)
        if (!isNested)
          return `${margin}${key}:${choose(' ', ' ', '   ')}${inFlow(value, column, choose)}${ending(choose)}`
        const inner = Array.isArray(value) && choose(true, false) ? column : column + step
        return `${margin}${key}:${ending(choose)}${onLines(value, inner, choose)}`
      })
  return lines.length === 0 ? `${margin}${isList ? '[]' : '{}'}\n` : lines.join('')
}

function afterDash(item: Tree, column: number, choose: Choose): string {
  if (typeof item === 'string' || choose(false, true))
    return `${inFlow(item, column, choose)}${ending(choose)}`
  return onLines(item, column + 2, choose).trimStart()
}

function inFlow(tree: Tree, column: number, choose: Choose): string {
  if (typeof tree === 'string') return tree
  const gap = choose('', ' ', ' ', `\n${' '.repeat(choose(column + 1, column + 2, column + 2, column))}`)
  const separator = choose(', ', ', ', ',', ` ,${gap}`)
  if (Array.isArray(tree)) {
    return `[${gap}${(tree as readonly Tree[]).map((item) => inFlow(item, column, choose)).join(separator)}${gap}]`
  }
  const pairs = pairsOf(tree).map(
    ([key, value]) => `${key}:${choose(' ', ' ', '')}${inFlow(value, column, choose)}`,
  )
  return `{${gap}${pairs.join(separator)}${gap}}`
}

function pairsOf(tree: Tree): readonly (readonly [string, Tree])[] {
  return (tree as Extract<Tree, { pairs: unknown }>).pairs
}

function ending(choose: Choose): string {
  return choose('\n', '\n', '\n', '\n', ' # said\n', '  \n', '\n\n', '\n# between\n', '\n    # deep\n')
}

const pieces = [
  ' ',
  '  ',
  '\n',
  '\n  ',
  '\t',
  '\r\n',
  '#',
  ' #',
  ':',
  ': ',
  '-',
  '- ',
  '?',
  '? ',
  ',',
  '[',
  ']',
  '{',
  '}',
  '"',
  "'",

  '\\',
  '&a ',
  '*a',
  '!!str ',
  '!',
  '|',
  '>',
  '%',
  '@',
  '`',
  '---',
  '\n---\n',
  '\n...\n',
  '\n%YAML 1.2\n',
  '~',
  'null',

  '1',
  '.',
  '+',
  'a',
  'b c',
  'key: ',
  '\n- ',
  '<<: ',
  '\ufeff',
  '\u0085',
  '\u2028',
  '\u00e9',
  '\ud800',
  '\u0000',
  '\u007f',
  '\u00a0',
]

/** Texts in which somebody cut, pasted or slipped a few times. */
export function mutated(texts: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const edit = fc.record({
    at: fc.nat(),
    cut: fc.constantFrom(0, 0, 0, 1, 1, 2, 8),
    piece: fc.constantFrom('', '', ...pieces),
  })
  return fc.tuple(texts, fc.array(edit, { minLength: 1, maxLength: 3 })).map(([text, edits]) => {
    let result = text
    for (const { at, cut, piece } of edits) {
      const place = at % (result.length + 1)
      result = result.slice(0, place) + piece + result.slice(place + cut)
    }
    return result
  })
}

/** Texts of anything that means something in YAML. */
export const soup: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...pieces, ...words, ...numbers, ...quoted), { maxLength: 14 })
  .map((parts) => parts.join(''))
