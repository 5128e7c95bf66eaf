import type { OutgoingHttpHeaders } from 'node:http'

/** Features of the browser that the page never uses, and that apps may use only if the person agrees. */
const unusedFeatures = [
  'accelerometer',
  'autoplay',
  'camera',
  'clipboard-read',
  'display-capture',
  'encrypted-media',
  'geolocation',
  'gyroscope',
  'hid',
  'identity-credentials-get',
  'idle-detection',
  'local-fonts',
  'magnetometer',
  'microphone',
  'midi',
  'otp-credentials',
  'payment',
  'picture-in-picture',
  'publickey-credentials-create',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'storage-access',
  'usb',
  'window-management',
  'xr-spatial-tracking',
]

/** A permissions policy that allows a feature to the origins that `originOf` returns, and denies it if that is undefined. */
export function permissionsPolicy(originOf: (feature: string) => string | undefined): string {
  return [...unusedFeatures, 'clipboard-write']
    .map((feature) => `${feature}=(${originOf(feature) ?? ''})`)
    .join(', ')
}

/** Only the page itself may write to the clipboard. */
const defaultPermissions = permissionsPolicy((feature) =>
  feature === 'clipboard-write' ? 'self' : undefined,
)

/** Features that an app may be granted. A frame can have only features that its page has. */
const appFeatures: ReadonlySet<string> = new Set(['camera', 'microphone', 'geolocation', 'clipboard-write'])

/** The permissions policy of the page. `apps`: the pattern of the origins of apps, whose frames may use what they were granted. */
export function pagePermissions(apps: string | undefined): string {
  if (apps === undefined) return defaultPermissions
  const origins = `self "${apps}"`
  return permissionsPolicy((feature) => (appFeatures.has(feature) ? origins : undefined))
}

/** The policy of a blob that a tab opens: no script, no origin, no request. */
export const blobPolicy = "sandbox; default-src 'none'; frame-ancestors 'none'"

/**
 * The policy of every other response. `nonce`: of the style elements of the page; `apps`: the pattern of the origins of apps, such
 * as `http://*.localhost:7421`.
 */
export function pagePolicy(nonce?: string, apps?: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${nonce === undefined ? '' : ` 'nonce-${nonce}'`}`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    ...(apps === undefined ? [] : [`frame-src ${apps}`]),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}

/** The headers of every response, including refusals. */
export function securityHeaders(policy: string = pagePolicy()): OutgoingHttpHeaders {
  return {
    'Content-Security-Policy': policy,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Origin-Agent-Cluster': '?1',
    'Permissions-Policy': defaultPermissions,
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  }
}
