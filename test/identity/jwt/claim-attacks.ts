import { claimsWith, signed, type JoseAttack } from './forged-tokens.ts'

/** Texts that are not one clear JSON object. */
const malformedTexts: readonly [name: string, change: (claims: string) => string | Buffer][] = [
  ['sub twice', (claims) => claims.replace(/}$/, ',"sub":"root"}')],
  ['sub twice, once in escapes', (claims) => claims.replace(/}$/, ',"s\\u0075b":"root"}')],
  ['iss twice', (claims) => claims.replace(/}$/, ',"iss":"https://other.example"}')],
  [
    'a member twice inside of a claim',
    (claims) => claims.replace(/}$/, ',"realm":{"roles":["a"],"roles":["b"]}}'),
  ],
  ['a byte order mark before the claims', (claims) => `\ufeff${claims}`],
  ['claims that are no UTF-8', (claims) => Buffer.from(claims.replace('alice', 'alice\u00ff'), 'latin1')],
  ['claims in UTF-16', (claims) => Buffer.from(claims, 'utf16le')],
  ['claims with a comment', (claims) => `${claims}/* */`],
  ['claims that are a list', (claims) => `[${claims}]`],
  ['claims that are text', (claims) => JSON.stringify(claims)],
  ['claims that are null', () => 'null'],
  ['lists 3,000 deep', () => `${'['.repeat(3000)}${']'.repeat(3000)}`],
  ['exp NaN', (claims) => withExpiry(claims, 'NaN')],
  ['exp as hexadecimal', (claims) => withExpiry(claims, '0xffffffff')],
]

const malformedHeaders: readonly [name: string, header: string][] = [
  ['alg twice', '{"alg":"none","kid":"rsa","alg":"RS256"}'],
  ['kid twice', '{"alg":"RS256","kid":"ed","kid":"rsa"}'],
  ['a byte order mark before the header', '\ufeff{"alg":"RS256","kid":"rsa"}'],
  ['a header that is a list', '["RS256"]'],
]

/** Values of `exp` as JSON text. */
const expiries: readonly [reason: RegExp, values: readonly string[]][] = [
  [/^missing_expiry$/, ['"9999999999"', 'null', 'true', '[9999999999]', '{"value":9999999999}']],
  [/^expired_token$/, ['0', '-1', '-0', '1.5', '-9999999999', '1e-9']],
  [/^token_lifetime_too_long$/, ['1e400', '1e308', '9007199254740993', '253402300800']],
]

const audiences: readonly [name: string, aud: unknown][] = [
  ['missing', undefined],
  ['empty', ''],
  ['an empty list', []],
  ['in upper case', 'CATALOG'],
  ['a beginning', 'cat'],
  ['all in one text', 'billing catalog'],
  ['a list in a list', [['catalog']]],
  ['with a wildcard', '*'],
  ['null', null],
]

const issuers: readonly [name: string, iss: unknown][] = [
  ['missing', undefined],
  ['empty', ''],
  ['with a slash at the end', 'https://corp.example/'],
  ['in upper case', 'https://CORP.example'],
  ['over http', 'http://corp.example'],
  ['with a letter that looks alike', 'https://\u0441orp.example'],
  ['another', 'https://other.example'],
  ['null', null],
]

const otherClaims: readonly [name: string, reason: RegExp, changes: Record<string, unknown>][] = [
  ['exp missing', /^missing_expiry$/, { exp: undefined }],
  ['exp in milliseconds', /^token_lifetime_too_long$/, { exp: Date.now() + 60_000 }],
  ['nbf in the future', /^token_not_yet_valid$/, { nbf: 4_000_000_000 }],
  ['nbf as text', /^token_not_yet_valid|malformed_token$/, { nbf: '0' }],
  ['iat as text', /^malformed_token$/, { iat: '0' }],
  ['a token for DPoP sent as bearer (RFC 9449)', /^unproven_binding$/, { cnf: { jkt: 'AAAA' } }],
  [
    'a token that is bound to a certificate, sent without it (RFC 8705)',
    /^unproven_binding$/,
    { cnf: { 'x5t#S256': 'AAAA' } },
  ],
  ['a token that is bound to nothing readable', /^unproven_binding$/, { cnf: null }],
  ['a huge token', /^token_too_long$/, { padding: 'x'.repeat(16_384) }],
]

function withExpiry(claims: string, value: string): string {
  return claims.replace(/"exp":\d+/, `"exp":${value}`)
}

/** Attacks on claims signed by the issuer: for another audience, for another time, or ambiguous. */
export const claimAttacks: readonly JoseAttack[] = [
  ...malformedTexts.map(([name, change]): JoseAttack => [
    name,
    /^malformed_token$/,
    ({ rsa }) => signed(rsa, change(claimsWith())),
  ]),
  ...malformedHeaders.map(([name, header]): JoseAttack => [
    name,
    /^malformed_token$/,
    ({ rsa }) => signed(rsa, claimsWith(), header),
  ]),
  ['claims that are empty', /^unknown_issuer$/, ({ rsa }) => signed(rsa, '{}')],
  [
    'a prototype that names the issuer',
    /^unknown_issuer$/,
    ({ rsa }) =>
      signed(rsa, claimsWith().replace('"iss":', '"__proto__":{"iss":"https://corp.example"},"was":')),
  ],
  ...expiries.flatMap(([reason, values]) =>
    values.map((value): JoseAttack => [
      `exp ${value}${reason.test('token_lifetime_too_long') ? ', which never comes' : ''}`,
      reason,
      ({ rsa }) => signed(rsa, withExpiry(claimsWith(), value)),
    ]),
  ),
  ...audiences.map(([name, aud]): JoseAttack => [
    `aud ${name} (replay across audiences)`,
    /^wrong_audience$/,
    ({ rsa }) => signed(rsa, claimsWith({ aud })),
  ]),
  ...issuers.map(([name, iss]): JoseAttack => [
    `iss ${name}`,
    /^unknown_issuer$/,
    ({ rsa }) => signed(rsa, claimsWith({ iss })),
  ]),
  ...otherClaims.map(([name, reason, changes]): JoseAttack => [
    name,
    reason,
    ({ rsa }) => signed(rsa, claimsWith(changes)),
  ]),
]
