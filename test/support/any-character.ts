import fc from 'fast-check'

const [surrogates, count] = [0xd800, 0x800]

/** Any character, as `unit: 'binary'` of fast-check, which would list all of them in a map for each arbitrary. */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(0x10ffff - count).map(
  (number) => String.fromCodePoint(number < surrogates ? number : number + count),
  (character) => {
    const code = String(character).codePointAt(0)
    if (code === undefined || String.fromCodePoint(code) !== character) throw new Error('not one character')
    return code < surrogates ? code : code - count
  },
)
