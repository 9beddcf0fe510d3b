export const words = (text: string): string[] => text.split(' ')

/** Texts that some routers interpret as a slash. */
export const separators = words(
  '/ \\ %2F %2f %5C %5c %252F %255C // /./ /;/ %E2%88%95 %EF%BC%8F %c0%af %u002f',
)
/** Texts that some routers interpret as the parent segment. */
export const dots = words(
  '.. %2e%2e .%2E ..; ..;a=b ..%00 %c0%ae%c0%ae %252e%252e .... . ..%20 %EF%BC%8E%EF%BC%8E',
)
/** Paths to append to `/v1/table/x/..`. */
export const forbiddenSuffixes = [
  ...words('production$orders production%24orders production$orders/drop production$orders/query'),
  ...words('namespace/production/drop'),
]
/** Texts that are invalid in a path, or special to some routers. */
export const oddSequences = [
  ...words(';x=y ; ? ?delimiter=. # %23 %3F %00 %0d%0ax-a:%20b %0a %ff %C3 %ED%A0%80 %EF%BC%84 %u0024 %'),
  ...words('%4 %zz + %2B %20 %09 %7f %C2%85 %22 ` | ^ {id} < $ $$ %24%24 %2524 \x00 \x7f é & = @'),
  ...words('%E2%80%AE %EF%BB%BF .json * , ~'),
  ' ',
  '\t',
  "'",
]
/** Valid and invalid delimiters of ids. */
export const delimiters = [
  ...words('. : :: / %2F - _ ~ a sandbox production $$ %24%24 ab $x + %2B %20 %25 \\ %5C %00'),
  ...words('0123456789abcdef 0123456789abcdefg %EF%BC%84 .sandbox. %3B %26 %23'),
  '',
]
/** Supported, unsupported and malformed methods. */
export const methods = [
  ...words('GET POST HEAD PUT DELETE PATCH OPTIONS TRACE post QUERY PROPFIND M-SEARCH GE'),
  'POS T',
  '',
]
/** Unsupported and malformed versions of HTTP. */
export const versions = [
  ...words('HTTP/1.0 HTTP/1.2 HTTP/2.0 HTTP/0.9 http/1.1 HTTP/01.1 ICE/1.0'),
  'HTTP/1.1 ',
  '',
]
/** Prefixes of absolute-form and other targets. */
export const origins = [
  ...words('http://gateway.example http://production //production https://a@b:1'),
  ...words('HTTP://gateway.example:80 file:// http: . *'),
]
