-- | Warp. APP: lock, a request waits SLEEP_MS while it holds an MVar; compute, it sums numbers for
-- ROUNDS.
module Main (main) where

import Control.Concurrent (threadDelay)
import Control.Concurrent.MVar (newMVar, withMVar)
import Data.List (foldl')
import Network.HTTP.Types (status200)
import Network.Wai (responseLBS)
import Network.Wai.Handler.Warp (run)
import System.Environment (getEnv)
import qualified Data.ByteString.Lazy.Char8 as Text

main :: IO ()
main = do
  port <- read <$> getEnv "PORT"
  app <- getEnv "APP"
  lock <- newMVar ()
  run port $ \_ respond -> do
    body <- case app of
      "lock" -> do
        sleepMs <- read <$> getEnv "SLEEP_MS" :: IO Double
        withMVar lock $ \_ -> threadDelay $ round $ sleepMs * 1000
        pure "waited\n"
      _ -> do
        rounds <- read <$> getEnv "ROUNDS" :: IO Int
        pure $ show $ foldl' (\sum' number -> (sum' * 31 + number) `mod` 1000003) 7 [1 .. rounds]
    respond $ responseLBS status200 [] $ Text.pack body
