import { only, type Requirement } from '../requirement.ts'

/** What a client does with headers that mirror the body. */
export const transportsHeadersClient: readonly Requirement[] = only('http', [
  {
    places: { '2607-266': 'basic/transports/streamable-http#standard-request-headers' },
    level: 'MUST',
    of: 'client',
    says: 'A name that is not safe in a header is encoded.',
    proof: ['packages/sdk/test/links/http-headers.test.ts > names its tool safely: %j as %j'],
  },
  {
    places: { '2607-277': 'basic/transports/streamable-http#value-encoding' },
    level: 'SHOULD',
    of: 'client',
    says: 'The encoding of arguments holds for `Mcp-Name` too.',
    proof: ['packages/sdk/test/links/http-headers.test.ts > names its tool safely: %j as %j'],
  },
  {
    places: {
      '2607-267': 'basic/transports/streamable-http#custom-headers-from-tool-parameters',
      'sep-2243-http-004': '2243-http-standardization#custom-headers-from-tool-parameters',
      'sep-2243-http-031': '2243-http-standardization#custom-headers-from-tool-parameters',
    },
    level: 'MUST',
    of: 'client',
    says: 'Arguments that a tool marks with `x-mcp-header` are mirrored into headers.',
    proof: ['packages/sdk/test/links/http-headers.test.ts > travel where they are given, and only then'],
  },
  {
    places: {
      '2607-280': 'basic/transports/streamable-http#client-behavior',
      'sep-2243-http-017': '2243-http-standardization#client-behavior',
    },
    level: 'MUST',
    of: 'client',
    says: 'A call has `Mcp-Method`, `Mcp-Name` and one encoded header for each marked argument that is given.',
    proof: [
      'packages/sdk/test/links/http-headers.test.ts > travel where they are given, and only then',
      'packages/sdk/test/links/http-headers.test.ts > is a POST of one message with version, method and both content types in its headers',
    ],
  },
  {
    places: { 'sep-2243-http-064': '2243-http-standardization#null-and-missing-values' },
    level: 'MUST',
    of: 'client',
    says: 'An optional argument that is given has its header.',
    proof: ['packages/sdk/test/links/http-headers.test.ts > travel where they are given, and only then'],
  },
  {
    places: {
      'sep-2243-http-062': '2243-http-standardization#null-and-missing-values',
      'sep-2243-http-063': '2243-http-standardization#null-and-missing-values',
    },
    level: 'MUST',
    of: 'client',
    says: 'An argument that is null or absent has no header.',
    proof: ['packages/sdk/test/links/http-headers.test.ts > travel where they are given, and only then'],
  },
  {
    places: { 'sep-2243-http-018': '2243-http-standardization#client-behavior' },
    level: 'MUST',
    of: 'client',
    says: 'Headers follow the newest definition of the tool; a client that has none sends none, and learns it when refused.',
    proof: [
      'packages/sdk/test/links/http-headers.test.ts > follow the newest definition of their tool',
      'packages/sdk/test/links/http-headers.test.ts > are left out while the definition is unknown, then learned when the server wants them',
    ],
  },
  {
    places: { '2607-281': 'basic/transports/streamable-http#client-behavior' },
    level: 'SHOULD',
    of: 'client',
    says: 'On a header mismatch the tools are listed anew and the call is tried again.',
    proof: [
      'packages/sdk/test/links/http-headers.test.ts > are left out while the definition is unknown, then learned when the server wants them',
      'packages/sdk/test/links/http-headers.test.ts > that changed meanwhile are learned anew, and a server that refuses again is not asked a third time',
    ],
  },
  {
    places: {
      '2607-274': 'basic/transports/streamable-http#schema-extension',
      'sep-2243-http-010': '2243-http-standardization#schema-extension',
    },
    level: 'MUST',
    of: 'client',
    says: 'A tool that breaks the rules on `x-mcp-header` is left out of the list, with a warning.',
    proof: [
      'packages/sdk/test/links/http-headers.test.ts > that break a rule take their tool out of the list, with a warning that names it and says why',
    ],
  },
  {
    places: {
      '2607-268': 'basic/transports/streamable-http#schema-extension',
      'sep-2243-http-005': '2243-http-standardization#schema-extension',
    },
    level: 'MUST NOT',
    of: 'both',
    says: 'The name of a marked argument is not empty.',
    proof: ['packages/sdk/test/protocol/header-annotations.test.ts > an empty name'],
  },
  {
    places: { 'sep-2243-http-051': '2243-http-standardization#x-mcp-header-name-conflicts' },
    level: 'MUST',
    of: 'client',
    says: 'A tool whose marked argument has an empty name is refused.',
    proof: [
      'packages/sdk/test/protocol/header-annotations.test.ts > an empty name',
      'packages/sdk/test/links/http-headers.test.ts > that break a rule take their tool out of the list, with a warning that names it and says why',
    ],
  },
  {
    places: {
      '2607-269': 'basic/transports/streamable-http#schema-extension',
      'sep-2243-http-006': '2243-http-standardization#schema-extension',
    },
    level: 'MUST',
    of: 'both',
    says: 'The name of a marked argument is a token, as header names are.',
    proof: [
      'packages/sdk/test/protocol/header-annotations.test.ts > a space in the name',
      'packages/sdk/test/protocol/header-annotations.test.ts > a colon in the name',
      'packages/sdk/test/protocol/header-annotations.test.ts > letters outside ASCII',
    ],
  },
  {
    places: {
      '2607-270': 'basic/transports/streamable-http#schema-extension',
      'sep-2243-http-007': '2243-http-standardization#schema-extension',
    },
    level: 'MUST NOT',
    of: 'both',
    says: 'The name of a marked argument holds no control characters.',
    proof: [
      'packages/sdk/test/protocol/header-annotations.test.ts > a tab in the name',
      'packages/sdk/test/protocol/header-annotations.test.ts > a line break in the name',
    ],
  },
  {
    places: {
      '2607-271': 'basic/transports/streamable-http#schema-extension',
      'sep-2243-http-008': '2243-http-standardization#schema-extension',
      'sep-2243-http-049': '2243-http-standardization#x-mcp-header-name-conflicts',
      'sep-2243-http-050': '2243-http-standardization#x-mcp-header-name-conflicts',
    },
    level: 'MUST',
    of: 'both',
    says: 'No two marked arguments of a tool have one name, whatever its case.',
    proof: [
      'packages/sdk/test/protocol/header-annotations.test.ts > one name twice',
      'packages/sdk/test/protocol/header-annotations.test.ts > one name in two cases',
      'packages/sdk/test/protocol/header-annotations.test.ts > one name at two depths',
      'packages/sdk/test/links/http-headers.test.ts > that break a rule take their tool out of the list, with a warning that names it and says why',
    ],
  },
  {
    places: {
      '2607-272': 'basic/transports/streamable-http#schema-extension',
      'sep-2243-http-009': '2243-http-standardization#schema-extension',
    },
    level: 'MUST',
    of: 'both',
    says: 'Only texts, integers and truth values are marked, and integers stay in the safe range.',
    proof: [
      'packages/sdk/test/protocol/header-annotations.test.ts > a number',
      'packages/sdk/test/protocol/header-annotations.test.ts > an array',
      'packages/sdk/test/protocol/header-annotations.test.ts > an object',
      'packages/sdk/test/protocol/header-annotations.test.ts > null',
      'packages/sdk/test/protocol/header-annotations.test.ts > is never an integer that readers round differently: %j',
      'packages/sdk/test/links/http-headers.test.ts > with an integer beyond the safe range are not sent at all',
    ],
  },
  {
    places: { '2607-273': 'basic/transports/streamable-http#schema-extension' },
    level: 'MUST NOT',
    of: 'both',
    says: 'Only properties reached through `properties` alone are marked.',
    proof: [
      'packages/sdk/test/protocol/header-annotations.test.ts > is refused by the client that reads it and the server that defines it: %s',
      'packages/sdk/test/protocol/header-annotations.test.ts > a property inside objects',
      'packages/sdk/test/links/http-headers.test.ts > that break a rule take their tool out of the list, with a warning that names it and says why',
    ],
  },
  {
    places: {
      'sep-2243-http-052': '2243-http-standardization#invalid-x-mcp-header-values',
      'sep-2243-http-053': '2243-http-standardization#invalid-x-mcp-header-values',
      'sep-2243-http-054': '2243-http-standardization#invalid-x-mcp-header-values',
      'sep-2243-http-055': '2243-http-standardization#invalid-x-mcp-header-values',
    },
    level: 'MUST',
    of: 'client',
    says: 'A tool whose marked argument has a space, a colon, a letter outside ASCII or a control character in its name is refused.',
    proof: [
      'packages/sdk/test/protocol/header-annotations.test.ts > a space in the name',
      'packages/sdk/test/protocol/header-annotations.test.ts > a colon in the name',
      'packages/sdk/test/protocol/header-annotations.test.ts > letters outside ASCII',
      'packages/sdk/test/protocol/header-annotations.test.ts > a tab in the name',
    ],
  },
  {
    places: {
      '2607-275': 'basic/transports/streamable-http#value-encoding',
      'sep-2243-http-011': '2243-http-standardization#value-encoding',
    },
    level: 'MUST',
    of: 'client',
    says: 'Values are encoded before they become headers.',
    proof: [
      'packages/sdk/test/protocol/header-annotations.test.ts > is written as the rules say: %j is %j',
      'packages/sdk/test/links/http-headers.test.ts > travel where they are given, and only then',
    ],
  },
  {
    places: {
      '2607-276': 'basic/transports/streamable-http#value-encoding',
      'sep-2243-http-014': '2243-http-standardization#value-encoding',
    },
    level: 'MUST',
    of: 'client',
    says: 'A value that is not plain ASCII travels as base64 of its UTF-8, between the marks.',
    proof: [
      'packages/sdk/test/protocol/header-annotations.test.ts > is written as the rules say: %j is %j',
      'packages/sdk/test/protocol/headers.test.ts > are always printable ASCII and decode to what was encoded',
    ],
  },
  {
    places: {
      '2607-279': 'basic/transports/streamable-http#value-encoding',
      'sep-2243-http-016': '2243-http-standardization#value-encoding',
    },
    level: 'MUST',
    of: 'client',
    says: 'A value that looks encoded is encoded too.',
    proof: [
      'packages/sdk/test/protocol/header-annotations.test.ts > is written as the rules say: %j is %j',
      'packages/sdk/test/links/http-headers.test.ts > names its tool safely: %j as %j',
    ],
  },
  {
    places: { 'sep-2243-http-012': '2243-http-standardization#value-encoding' },
    level: 'MUST',
    of: 'client',
    says: 'A value with a space or tab at either end is encoded.',
    proof: ['packages/sdk/test/protocol/header-annotations.test.ts > is written as the rules say: %j is %j'],
  },
  {
    places: { 'sep-2243-http-013': '2243-http-standardization#value-encoding' },
    level: 'MUST',
    of: 'client',
    says: 'Values become text by type, and are encoded for whitespace at the ends, letters outside ASCII and control characters.',
    proof: ['packages/sdk/test/protocol/header-annotations.test.ts > is written as the rules say: %j is %j'],
  },
  {
    places: { 'sep-2243-http-032': '2243-http-standardization#header-injection' },
    level: 'MUST',
    of: 'client',
    says: 'The encoding keeps control characters out of headers and letters outside ASCII safe.',
    proof: [
      'packages/sdk/test/protocol/header-annotations.test.ts > is written as the rules say: %j is %j',
      'packages/sdk/test/protocol/headers.test.ts > are always printable ASCII and decode to what was encoded',
    ],
  },
  {
    places: { 'sep-2243-http-029': '2243-http-standardization#no-specification-level-header-size-limit' },
    level: 'SHOULD',
    of: 'both',
    says: 'A client copes with 413 and 431; a server says what its limits are.',
    proof: [
      'packages/sdk/test/links/http-headers.test.ts > that say %i are an error a caller can tell, and the connection goes on',
      'packages/sdk/test/serve/http-headers.test.ts > that are too many or too long are refused before the body is read',
    ],
  },
])
