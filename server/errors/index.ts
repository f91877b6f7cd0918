export { errorCodes, retiredCodes, type ErrorCode, type ErrorCodeInfo } from './codes';
export { SluiceError, isErrorCode, isSluiceError, toSluiceError, type WireError } from './sluiceError';
