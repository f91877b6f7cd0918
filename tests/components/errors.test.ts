import { TRPCClientError } from '@trpc/client';
import { expect, test } from 'vitest';
import { describeError } from '@/components/trpc/describeError';

const answered = (data: Record<string, unknown>, message = 'internal') =>
  TRPCClientError.from({ error: { code: -32_000, message, data } });

test('a refusal is told in the server’s words, with what to do', () => {
  const sluice = { code: 'GPU_BUSY', message: '1 GPU is asked for.', hint: 'Wait.' };
  expect(describeError(answered({ code: 'CONFLICT', sluice }))).toEqual({
    code: 'GPU_BUSY',
    message: '1 GPU is asked for.',
    hint: 'Wait.',
  });
});

test('a refusal without the product’s code keeps the message', () => {
  expect(describeError(answered({ code: 'NOT_FOUND' }, 'No such thing.'))).toEqual({
    code: 'NOT_FOUND',
    message: 'No such thing.',
    hint: null,
  });
});

test.each([
  ['a network error', new TypeError('Failed to fetch')],
  ['an answer that is not the API’s', TRPCClientError.from(new Error('Unexpected token <'))],
  ['nothing known', undefined],
])('%s says that the server does not answer', (_name, error) => {
  expect(describeError(error)).toMatchObject({ code: null, message: 'The Sluice server does not answer.' });
});
