import fc from 'fast-check'
import { expect, it } from 'vitest'
import { headGrammar } from '../../../src/http1/codec/header-fields.ts'
import { isThorough } from '../../support/thorough.ts'

function isValidHead(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    const isEnd = code === 0x0d && text.charCodeAt(at + 1) === 0x0a
    if (isEnd) at += 1
    else if ((code < 0x20 && code !== 0x09) || code === 0x7f || code > 0xff) return false
  }
  return true
}

const fragments = fc.oneof(
  fc.constantFrom('\r\n', '\r', '\n', '\t', '\0', '\x7f', '\x80', 'Ā', ' '),
  fc.string({ maxLength: 20 }),
)

it('a head contains complete line ends, and no control characters but tabs', () => {
  fc.assert(
    fc.property(fc.array(fragments, { maxLength: 12 }), (fragments) => {
      const text = fragments.join('')
      expect([text, headGrammar.test(text)]).toEqual([text, isValidHead(text)])
    }),
    { numRuns: isThorough ? 5_000 : 330 },
  )
})

it.each(['\n', '\r', '\0'])('a long head with an error at its end takes no longer', (end) => {
  const text = `name: ${'x'.repeat(50)}\r\n`.repeat(20_000) + end
  const started = performance.now()
  expect(headGrammar.test(text)).toBe(false)
  expect(performance.now() - started).toBeLessThan(10_000)
})
