import { describe, expect, it } from 'vitest'
import { findMutants } from './find-mutants.ts'

const changesOf = (source: string): readonly string[] =>
  findMutants('source.ts', source).map(({ change }) => change)

describe('mutants of a source', () => {
  it.each([
    ['a comparison moves its boundary and turns round', 'a < b', ['a < b -> a <= b', 'a < b -> a >= b']],
    ['an equality turns round', 'a === b', ['a === b -> a !== b']],
    ['a logical operator becomes the other one', 'a && b', ['a && b -> a || b']],
    ['a negation is left out', '!a', ['!a -> a']],
    ['texts are joined in one way only', "a + 'b'", ["'b' -> ''"]],
    ['a number grows by one', 'f(1)', ['1 -> 2']],
    ['a property is read of what may be missing', 'a?.b', ['a?.b -> a.b']],
    ['some becomes every', 'a.some(f)', ['a.some(f) -> a.every(f)']],
    ['a change of case is left out', 'a.toLowerCase()', ['a.toLowerCase() -> a']],
    ['a type-only default stays', "a[0] ?? ''", ['0 -> 1', "a[0] ?? '' -> a[0] && ''"]],
    ['an anchor of a pattern is left out', '/a$/', ['/a$/ -> /a/']],
    [
      'a class of a pattern turns round',
      '/[a]{1,2}/i',
      ['/[a]{1,2}/i -> /[^a]{1,2}/i', '/[a]{1,2}/i -> /[a]{1,3}/i', '/[a]{1,2}/i -> /[a]{1,2}/'],
    ],
  ])('%s', (_, expression, changes) => {
    expect(changesOf(`const it = ${expression}`)).toEqual(changes)
  })

  it('replace a condition by true and by false', () => {
    expect(changesOf('if (a) b = c')).toEqual(['a -> true', 'a -> false', 'b = c -> ;'])
  })

  it('remove a throw, but do not change its message', () => {
    expect(changesOf("throw new Error('message')")).toEqual(["throw new Error('message') -> ;"])
  })

  it('do not touch types, imports and property names', () => {
    expect(changesOf("import a from 'a'\ntype B = 'b' | 1\nconst c = { d: e as 'e' }")).toEqual([])
  })

  it('have the line and its text', () => {
    expect(findMutants('source.ts', 'a()\n  return1(b - c)')).toMatchObject([
      { line: 1, lineText: 'a()' },
      { line: 2, lineText: 'return1(b - c)' },
      { line: 2, change: 'b - c -> b + c' },
    ])
  })
})
