import { claimsText, claimsWith, signed, type JoseAttack } from './forged-tokens.ts'

const malformed = /^malformed_token$/

const texts: readonly JoseAttack[] = [
  [
    'sub twice',
    malformed,
    ({ rsa }) =>
      signed(
        rsa,
        claimsText((text) => text.replace(/}$/, ',"sub":"root"}')),
      ),
  ],
  [
    'sub twice, once in escapes',
    malformed,
    ({ rsa }) =>
      signed(
        rsa,
        claimsText((text) => text.replace(/}$/, ',"s\\u0075b":"root"}')),
      ),
  ],
  [
    'iss twice',
    malformed,
    ({ rsa }) =>
      signed(
        rsa,
        claimsText((text) => text.replace(/}$/, ',"iss":"https://other.example"}')),
      ),
  ],
  [
    'a member twice inside of a claim',
    malformed,
    ({ rsa }) =>
      signed(
        rsa,
        claimsText((text) => text.replace(/}$/, ',"realm":{"roles":["a"],"roles":["b"]}}')),
      ),
  ],
  [
    'alg twice',
    malformed,
    ({ rsa }) => signed(rsa, claimsWith(), '{"alg":"none","kid":"rsa","alg":"RS256"}'),
  ],
  ['kid twice', malformed, ({ rsa }) => signed(rsa, claimsWith(), '{"alg":"RS256","kid":"ed","kid":"rsa"}')],
  ['a byte order mark before the claims', malformed, ({ rsa }) => signed(rsa, `\ufeff${claimsWith()}`)],
  [
    'a byte order mark before the header',
    malformed,
    ({ rsa }) => signed(rsa, claimsWith(), '\ufeff{"alg":"RS256","kid":"rsa"}'),
  ],
  [
    'claims that are no UTF-8',
    malformed,
    ({ rsa }) => signed(rsa, Buffer.from(claimsWith({ sub: 'alice#' }).replace('#', '\u00ff'), 'latin1')),
  ],
  ['claims in UTF-16', malformed, ({ rsa }) => signed(rsa, Buffer.from(claimsWith(), 'utf16le'))],
  [
    'claims with a comment',
    malformed,
    ({ rsa }) =>
      signed(
        rsa,
        claimsText((text) => `${text}/* */`),
      ),
  ],
  ['claims that are a list', malformed, ({ rsa }) => signed(rsa, `[${claimsWith()}]`)],
  ['claims that are text', malformed, ({ rsa }) => signed(rsa, JSON.stringify(claimsWith()))],
  ['claims that are null', malformed, ({ rsa }) => signed(rsa, 'null')],
  ['claims that are empty', /^unknown_issuer$/, ({ rsa }) => signed(rsa, '{}')],
  [
    'a prototype that names the issuer',
    /^unknown_issuer$/,
    ({ rsa }) =>
      signed(
        rsa,
        claimsText((text) => text.replace('"iss":', '"__proto__":{"iss":"https://corp.example"},"was":')),
      ),
  ],
  ['a header that is a list', malformed, ({ rsa }) => signed(rsa, claimsWith(), '["RS256"]')],
  ['lists 3,000 deep', malformed, ({ rsa }) => signed(rsa, `${'['.repeat(3000)}${']'.repeat(3000)}`)],
]

const claims: readonly JoseAttack[] = [
  ['exp missing', /^missing_expiry$/, ({ rsa }) => signed(rsa, claimsWith({ exp: undefined }))],
  ...(['"9999999999"', 'null', 'true', '[9999999999]', '{"value":9999999999}'] as const).map(
    (exp): JoseAttack => [
      `exp ${exp}`,
      /^missing_expiry$/,
      ({ rsa }) =>
        signed(
          rsa,
          claimsText((text) => text.replace(/"exp":\d+/, `"exp":${exp}`)),
        ),
    ],
  ),
  ...(['0', '-1', '-0', '1.5', '-9999999999', '1e-9'] as const).map((exp): JoseAttack => [
    `exp ${exp}`,
    /^expired_token$/,
    ({ rsa }) =>
      signed(
        rsa,
        claimsText((text) => text.replace(/"exp":\d+/, `"exp":${exp}`)),
      ),
  ]),
  [
    'exp NaN',
    malformed,
    ({ rsa }) =>
      signed(
        rsa,
        claimsText((text) => text.replace(/"exp":\d+/, '"exp":NaN')),
      ),
  ],
  [
    'exp as hexadecimal',
    malformed,
    ({ rsa }) =>
      signed(
        rsa,
        claimsText((text) => text.replace(/"exp":\d+/, '"exp":0xffffffff')),
      ),
  ],
  ...(['1e400', '1e308', '9007199254740993', '253402300800'] as const).map((exp): JoseAttack => [
    `exp ${exp}, which never comes`,
    /^token_lifetime_too_long$/,
    ({ rsa }) =>
      signed(
        rsa,
        claimsText((text) => text.replace(/"exp":\d+/, `"exp":${exp}`)),
      ),
  ]),
  [
    'exp in milliseconds',
    /^token_lifetime_too_long$/,
    ({ rsa }) => signed(rsa, claimsWith({ exp: Date.now() + 60_000 })),
  ],
  [
    'nbf in the future',
    /^token_not_yet_valid$/,
    ({ rsa }) => signed(rsa, claimsWith({ nbf: 4_000_000_000 })),
  ],
  [
    'nbf as text',
    /^token_not_yet_valid|malformed_token$/,
    ({ rsa }) => signed(rsa, claimsWith({ nbf: '0' })),
  ],
  ['iat as text', malformed, ({ rsa }) => signed(rsa, claimsWith({ iat: '0' }))],
  ...(
    [
      ['missing', undefined],
      ['empty', ''],
      ['an empty list', []],
      ['another', 'billing'],
      ['in upper case', 'CATALOG'],
      ['with a space', 'catalog '],
      ['a beginning', 'cat'],
      ['all in one text', 'billing catalog'],
      ['a list in a list', [['catalog']]],
      ['an object', { catalog: true }],
      ['with a wildcard', '*'],
      ['null', null],
      ['with a letter that looks alike', 'c\u0430talog'],
    ] satisfies [string, unknown][]
  ).map(([name, aud]): JoseAttack => [
    `aud ${name} (replay across audiences)`,
    /^wrong_audience$/,
    ({ rsa }) => signed(rsa, claimsWith({ aud })),
  ]),
  ...(
    [
      ['missing', undefined],
      ['a list', ['https://corp.example']],
      ['with a slash at the end', 'https://corp.example/'],
      ['in upper case', 'https://CORP.example'],
      ['over http', 'http://corp.example'],
      ['with a port', 'https://corp.example:443'],
      ['with a space', 'https://corp.example '],
      ['with a NUL', 'https://corp.example\u0000'],
      ['with a letter that looks alike', 'https://\u0441orp.example'],
      ['in full width', 'https://\uff43orp.example'],
      ['with a zero-width character', 'https://corp.example\u200b'],
      ['another', 'https://other.example'],
      ['the prototype', '__proto__'],
      ['null', null],
    ] satisfies [string, unknown][]
  ).map(([name, iss]): JoseAttack => [
    `iss ${name}`,
    /^unknown_issuer$/,
    ({ rsa }) => signed(rsa, claimsWith({ iss })),
  ]),
  [
    'a token for DPoP sent as bearer (RFC 9449)',
    /^unproven_binding$/,
    ({ rsa }) => signed(rsa, claimsWith({ cnf: { jkt: 'AAAA' } })),
  ],
  [
    'a token that is bound to a certificate, sent without it (RFC 8705)',
    /^unproven_binding$/,
    ({ rsa }) => signed(rsa, claimsWith({ cnf: { 'x5t#S256': 'AAAA' } })),
  ],
  [
    'a token that is bound in an unknown way',
    /^unproven_binding$/,
    ({ rsa }) => signed(rsa, claimsWith({ cnf: { new: 1 } })),
  ],
  [
    'a token that is bound to nothing readable',
    /^unproven_binding$/,
    ({ rsa }) => signed(rsa, claimsWith({ cnf: null })),
  ],
  ['a logout token', /^wrong_token_type$/, ({ rsa }) => signed(rsa, claimsWith(), { typ: 'logout+jwt' })],
  [
    'a proof of possession',
    /^wrong_token_type$/,
    ({ rsa }) => signed(rsa, claimsWith(), { typ: 'dpop+jwt' }),
  ],
  ['a huge token', /^token_too_long$/, ({ rsa }) => signed(rsa, claimsWith({ padding: 'x'.repeat(16_384) }))],
]

/** Attacks on claims signed by the issuer: for another audience, for another time, or ambiguous. */
export const claimAttacks: readonly JoseAttack[] = [...texts, ...claims]
