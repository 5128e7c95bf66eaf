import type { ElicitSchema } from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { planForm } from '../../src/core/forms/form.ts'

function secretOf(key: string, property: object, message = ''): string | undefined {
  const schema: ElicitSchema = JSON.parse(JSON.stringify({ type: 'object', properties: { [key]: property } }))
  const plan = planForm(schema, message)
  if ('fault' in plan) throw new Error(plan.fault)
  return plan.fields[0]?.secret
}

describe('a field that asks for a secret by its name', () => {
  test.each([
    ...['password', 'user_password', 'newPassword', 'PASSWORD', 'passwd', 'passphrase', 'db-pwd'],
    ...[
      'Passwort',
      'Mot de passe',
      'Contraseña',
      'senha',
      'wachtwoord',
      'lösenord',
      'hasło',
      'şifre',
      'Mật khẩu',
    ],
    ...[
      'пароль',
      'Ваш пароль',
      'パスワード',
      '暗証番号',
      '密码',
      '비밀번호',
      'كلمة المرور',
      'पासवर्ड',
      'סיסמה',
    ],
  ])('%s: a password', (key) => {
    expect(secretOf(key, { type: 'string' })).toBe('a password')
  })

  test.each<[string, string]>([
    ['apiKey', 'a key'],
    ['API-KEY', 'a key'],
    ['api_key', 'a key'],
    ['openai_api_key', 'a key'],
    ['privateKey', 'a key'],
    ['clientSecret', 'a key'],
    ['clé privée', 'a key'],
    ['私钥', 'a key'],
    ['accessToken', 'a token'],
    ['token', 'a token'],
    ['GitHub personal access token', 'a token'],
    ['cardNumber', 'card data'],
    ['credit card', 'card data'],
    ['cvv', 'card data'],
    ['CVC2', 'card data'],
    ['security code', 'card data'],
    ['Kreditkartennummer', 'card data'],
    ['número de tarjeta', 'card data'],
    ['卡号', 'card data'],
    ['pin', 'a PIN'],
    ['Your PIN code', 'a PIN'],
    ['otp', 'a one-time code'],
    ['verificationCode', 'a one-time code'],
    ['验证码', 'a one-time code'],
    ['seed phrase', 'a recovery phrase'],
    ['助记词', 'a recovery phrase'],
    ['ssn', 'a number that identifies you or your account'],
    ['Social Security Number', 'a number that identifies you or your account'],
    ['IBAN', 'a number that identifies you or your account'],
    ['secret', 'a secret'],
    ['AWS credentials', 'a secret'],
  ])('%s: %s', (key, what) => {
    expect(secretOf(key, { type: 'string' })).toBe(what)
    expect(secretOf('x', { type: 'string', title: key })).toBe(what)
  })

  test('in numbers too, if they can be secrets', () => {
    expect(secretOf('pin', { type: 'integer' })).toBe('a PIN')
    expect(secretOf('cardNumber', { type: 'number' })).toBe('card data')
    expect(secretOf('maxToken', { type: 'integer' })).toBeUndefined()
  })

  test('by its format', () => {
    expect(secretOf('x', { type: 'string', format: 'password' })).toBe('a password')
  })

  test('by its description, or by the message of the form', () => {
    expect(secretOf('x', { type: 'string', description: 'Enter your password.' })).toBe('a password')
    expect(secretOf('value', { type: 'string' }, 'Please give me your API key')).toBe('a key')
  })
})

describe('an ordinary field', () => {
  test.each([
    ...['name', 'shippingDate', 'opinion', 'discard', 'compass', 'passenger', 'secretary', 'monkey', 'key'],
    ...['spinner', 'tokenizer', 'token symbol', 'pinned', 'cardholder name', 'postcode', 'seat', 'bypass'],
    ...['keyboard', 'confirmation code', 'board', 'authority', 'author', 'shopping', 'Datum', '名前', 'имя'],
  ])('%s', (key) => {
    expect(secretOf(key, { type: 'string' })).toBeUndefined()
  })

  test.each<[string, object]>([
    ['resetPassword', { type: 'boolean' }],
    ['passwordPolicy', { type: 'string', enum: ['strong', 'weak'] }],
    ['tokenKinds', { type: 'array', items: { enum: ['a', 'b'] } }],
  ])("if only the server's own values can be chosen: %s", (key, property) => {
    expect(secretOf(key, property)).toBeUndefined()
  })

  test.each([
    'We never ask for your password.',
    'Do not enter a password here',
    'Your name, not your API key',
  ])('if the description explains it: %s', (description) => {
    expect(secretOf('x', { type: 'string', description })).toBeUndefined()
  })
})
